"""The options of a search, the score of a hypothesis under them, and the constraints on a translation."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from saccade.errors import UserError
from saccade.ranges import (
    Beam,
    Checked,
    Count,
    Exponent,
    Help,
    Length,
    LengthOrZero,
    NotNegative,
    OptionError,
    Probability,
    Ratio,
    Seed,
    Temperature,
    UpToOne,
)

LengthNorm = Literal["wu", "mean", "none"]
_SLACK = 10  # tokens that may be written in addition to `longest_ratio`, so that a short source has room
_SEARCH, _SAMPLING, _LENGTH = "Search", "Sampling", "Length and repetition"
_WORDS = "Required and excluded words"
GAP = "…"


@dataclass(frozen=True, kw_only=True)
class Search(Checked):
    """The score of a translation y of a source x is log p(y) / lp(y) + β·cp(x, y), where |y| counts the end symbol:

    lp = ((5 + |y|)/6)^α  for "wu" (Wu 2016), |y|^α  for "mean", 1  for "none"
    cp = Σ_j log min(1, Σ_i a_ij), where a_ij is the attention of step i to source token j
    """

    beam: Annotated[
        Beam, Help("Number of hypotheses per sentence; 1 is greedy search. When sampling, number of samples.", _SEARCH)
    ] = 1
    n_best: Annotated[
        Beam, Help("Number of translations per sentence; above 1, printed as: line TAB score TAB text.", _SEARCH)
    ] = 1
    length_norm: Annotated[
        LengthNorm, Help("Normalisation of scores by length: wu (Wu 2016), mean, or none.", _SEARCH)
    ] = "wu"
    length_penalty: Annotated[
        Exponent, Help("Exponent α of the length normalisation; 0 is the plain log-probability.", _SEARCH)
    ] = 1.0
    coverage_penalty: Annotated[
        NotNegative, Help("Weight β of the coverage penalty (Wu 2016): unread source tokens lower the score.", _SEARCH)
    ] = 0.0
    groups: Annotated[
        Beam, Help("Number of groups in diverse beam search (Vijayakumar 2016); must divide the beam.", _SEARCH)
    ] = 1
    diversity: Annotated[
        NotNegative,
        Help("Penalty of a token for each hypothesis of an earlier group that chose it at the same step.", _SEARCH),
    ] = 0.5
    sample: Annotated[bool, Help("Sample translations at random instead of searching for the best.", _SAMPLING)] = False
    temperature: Annotated[
        Temperature, Help("Sampling temperature; below 1, probable tokens become more probable.", _SAMPLING)
    ] = 1.0
    top_k: Annotated[Count | None, Help("Sample among the K most probable tokens.", _SAMPLING)] = None
    top_p: Annotated[
        UpToOne, Help("Sample among the most probable tokens that together reach this probability.", _SAMPLING)
    ] = 1.0
    min_p: Annotated[
        Probability,
        Help("Sample among tokens with at least this fraction of the most probable token's probability.", _SAMPLING),
    ] = 0.0
    seed: Annotated[
        Seed, Help("Seed for sampling. The samples of a line depend only on the seed and the line's number.", _SAMPLING)
    ] = 1
    no_repeat: Annotated[Length | None, Help("Never write the same N tokens in a row twice.", _LENGTH)] = None
    repeats: Annotated[
        LengthOrZero, Help("Maximum repetitions of a token or phrase in a row; 0 disables this.", _LENGTH)
    ] = 0
    shortest: Annotated[LengthOrZero, Help("Minimum output length in tokens.", _LENGTH)] = 0
    shortest_ratio: Annotated[Ratio, Help("Minimum output length per source token.", _LENGTH)] = 0.0
    longest: Annotated[Length | None, Help("Maximum output length in tokens, including the end symbol.", _LENGTH)] = (
        None
    )
    longest_ratio: Annotated[
        Ratio, Help(f"Maximum output length per source token, plus {_SLACK}, unless `longest` is set.", _LENGTH)
    ] = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.beam:
            raise OptionError("n_best", f"must be from 1 to the beam of {self.beam}, got {self.n_best}")
        if self.longest is not None and self.shortest >= self.longest:
            raise OptionError("shortest", f"must be below the longest of {self.longest}, got {self.shortest}")
        for name in () if self.sample else ("temperature", "top_k", "top_p", "min_p"):
            if (value := getattr(self, name)) != getattr(Search, name):
                raise OptionError(name, f"applies only to sampling, got {value} without sample")
        if self.sample and self.groups > 1:
            raise OptionError("groups", f"must be 1 when sampling, got {self.groups}")
        if self.beam % self.groups:
            raise OptionError("groups", f"must divide the beam of {self.beam}, got {self.groups}")

    def with_options(self, **options: Any) -> "Search":
        """A copy with these options. Unless `beam` is among them, the beam is as wide as they need."""
        if options and "beam" not in options:
            n_best, groups = options.get("n_best", self.n_best), max(1, options.get("groups", self.groups))
            width = n_best if options.get("sample", self.sample) else max(self.beam, n_best)
            options["beam"] = math.ceil(width / groups) * groups
        return replace(self, **options)

    @property
    def layout(self) -> tuple[int, int]:
        """(G, K): hypotheses compete within a group, so every sample is a group of its own."""
        return (self.beam, 1) if self.sample else (self.groups, self.beam // self.groups)

    def length_limits(self, source: int, required: int = 0) -> tuple[int, int]:
        """(shortest, longest) output for a source of this many tokens. The tokens that constraints require are added to
        the longest."""
        longest = self.longest or math.ceil(self.longest_ratio * source) + _SLACK + required
        shortest = max(self.shortest, math.ceil(self.shortest_ratio * source))
        return min(shortest, longest - 1), longest

    def score(self, log_prob: float, length: int, coverage: float = 0.0) -> float:
        """`length` counts the end symbol; `coverage` is cp."""
        if self.length_norm == "none":
            norm = 1.0
        else:
            norm = ((5 + length) / 6 if self.length_norm == "wu" else length) ** self.length_penalty
        return float(log_prob / norm + self.coverage_penalty * coverage)

    def score_bound(self, log_prob: float, length: int, shortest: int, longest: int) -> float:
        """No continuation scores more. The log-probability only falls, cp is at most 0, and lp is monotone in the
        length, so that the maximum is at the first or at the last length at which a continuation may end."""
        return max(self.score(log_prob, end) for end in (max(length, shortest) + 1, longest))


DEFAULT_SEARCH = Search(beam=5, repeats=8)


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """An outline's words stand in the translation in this order, and the model writes the text at each gap (…).

    At "le … dort" it writes whole words; at "le cha…" it completes the word. "le … dort" ends in *dort*, and
    "le … dort …" may continue after it.
    """

    prefix: Annotated[str, Help("Begin the translation with exactly this text.", _WORDS)] = ""
    outline: Annotated[str, Help(f'Keep these words in order and fill each gap {GAP}: "le {GAP} dort".', _WORDS)] = ""
    include: Annotated[
        tuple[str, ...], Help("A phrase that the translation must contain. Can be repeated.", _WORDS)
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Help("A phrase that the translation must not contain. Can be repeated.", _WORDS)
    ] = ()

    def __post_init__(self) -> None:
        if self.prefix and self.outline:
            raise OptionError(
                "prefix", f"cannot be combined with an outline; write {self.prefix + GAP!r} before the outline's rest"
            )
        if self.outline and not self.outline.replace(GAP, "").strip():
            raise OptionError("outline", f"must have words to keep, got only gaps: {self.outline!r}")
        for name in ("include", "exclude"):
            phrases = getattr(self, name)
            if isinstance(phrases, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in phrases):
                raise OptionError(name, f"takes a list of phrases, each of at least one character; got {phrases!r}")

    @property
    def required(self) -> tuple[str, ...]:
        """Every text that must be written."""
        return tuple(filter(None, (self.prefix, self.outline, *self.include)))

    @classmethod
    def from_json(cls, value: Any) -> "Constraints":
        """Constraints from a parsed JSON object."""
        kinds = {"prefix": str, "outline": str, "include": list, "exclude": list}
        if not isinstance(value, dict) or not value.keys() <= kinds.keys():
            raise UserError(f"expected an object with some of {', '.join(kinds)}; got {str(value)[:60]}")
        for name, item in value.items():
            if not isinstance(item, kinds[name]):
                expected = "a text" if kinds[name] is str else "a list of texts"
                raise UserError(f"{name}: expected {expected}; got {item!r}")
        try:
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
            return cls(**fields)
        except OptionError as error:
            raise UserError(str(error)) from None
