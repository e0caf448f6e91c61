"""The options of all that runs a trained model: search, constraints on its result, and files. They load no torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from saccade.errors import UserError
from saccade.language import Language
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
    option,
)

LengthNorm = Literal["wu", "mean", "none"]
Average = Literal["probabilities", "log-probabilities"]
DecodingPrecision = Literal["auto", "fp32", "bf16", "fp16"]
Metric = Literal["chrf", "bleu"]
TooLong = Literal["keep", "split", "split-or-refuse", "refuse"]
"""Translate a long text whole ("keep"); split it into sentences, and translate a sentence that is still too long whole
("split") or refuse the text ("split-or-refuse"); or refuse the text at once ("refuse")."""

GAP = "…"
FIGURES = (".svg", ".png", ".pdf")
_SLACK = 10  # tokens that may be written in addition to `longest_ratio`, so that a short source has room

_search: Callable[..., Any] = partial(option, group="Search")
_sampling: Callable[..., Any] = partial(option, group="Sampling")
_length: Callable[..., Any] = partial(option, group="Length and repetition")
_words: Callable[..., Any] = partial(option, group="Required and excluded words")
_json: Callable[..., Any] = partial(option, group="JSON")
_unknown: Callable[..., Any] = partial(option, group="Unknown words")
_choice: Callable[..., Any] = partial(option, group="Choosing among the hypotheses")
_ensemble: Callable[..., Any] = partial(option, group="Ensemble")

Out = Annotated[
    Path | None, Help("Write to this file at the end. Repeat an interrupted command to continue where it stopped.")
]
Restart = Annotated[bool, Help("Start from the beginning and discard the output of an interrupted command.")]
BatchTokens = Annotated[Count, Help("Tokens × hypotheses per batch; a smaller number needs less memory.")]
SearchTokens = Annotated[
    Count | None,
    Help("Tokens × hypotheses per batch (default: 8192 on a CPU, more on a GPU); fewer need less memory."),
]
Chunk = Annotated[Count, Help("Number of lines to process and save at a time.")]
By = Annotated[
    Literal["auto", "piece", "word"],
    Help("Show attention per word or per token (piece). auto shows tokens for character models and single words."),
]
Tag = Annotated[str | None, Help("A tag such as <fr> to put before every source, for a model trained with tags.")]


@dataclass(frozen=True, kw_only=True)
class Search(Checked):
    """The score of a translation y of a source x is log p(y) / lp(y) + β·cp(x, y), where |y| counts the end symbol:

    lp = ((5 + |y|)/6)^α  for "wu" (Wu 2016), |y|^α  for "mean", 1  for "none"
    cp = Σ_j log min(1, Σ_i a_ij), where a_ij is the attention of step i to source token j
    """

    beam: Beam = _search(1, "Number of hypotheses per sentence; 1 is greedy search. When sampling, number of samples.")
    n_best: Beam = _search(1, "Number of translations per sentence; above 1, printed as: line TAB score TAB text.")
    length_norm: LengthNorm = _search("wu", "Normalisation of scores by length: wu (Wu 2016), mean, or none.")
    length_penalty: Exponent = _search(1.0, "Exponent α of the length normalisation; 0 is the plain log-probability.")
    coverage_penalty: NotNegative = _search(
        0.0, "Weight β of the coverage penalty (Wu 2016): unread source tokens lower the score."
    )
    groups: Beam = _search(1, "Number of groups in diverse beam search (Vijayakumar 2016); must divide the beam.")
    diversity: NotNegative = _search(
        0.5, "Penalty of a token for each hypothesis of an earlier group that chose it at the same step."
    )
    precision: DecodingPrecision = _search(
        "auto", "Precision of the model's numbers: fp32, bf16, fp16, or auto: fp16 on CUDA and fp32 elsewhere."
    )
    shortlist: bool = _search(
        False, "Score only the tokens of the model's shortlist (saccade shortlist): faster, but the text may differ."
    )
    sample: bool = _sampling(False, "Sample translations at random instead of searching for the best.")
    temperature: Temperature = _sampling(1.0, "Sampling temperature; below 1, probable tokens become more probable.")
    top_k: Count | None = _sampling(None, "Sample among the K most probable tokens.")
    top_p: UpToOne = _sampling(1.0, "Sample among the most probable tokens that together reach this probability.")
    min_p: Probability = _sampling(
        0.0, "Sample among tokens with at least this fraction of the most probable token's probability."
    )
    seed: Seed = _sampling(1, "Seed for sampling. The samples of a line depend only on the seed and the line's number.")
    no_repeat: Length | None = _length(None, "Never write a sequence of N tokens twice.")
    repeats: LengthOrZero = _length(0, "Maximum repetitions of a token or phrase in a row; 0 disables this.")
    shortest: LengthOrZero = _length(0, "Minimum output length in tokens.")
    shortest_ratio: Ratio = _length(0.0, "Minimum output length per source token.")
    longest: Length | None = _length(None, "Maximum output length in tokens, including the end symbol.")
    longest_ratio: Ratio = _length(
        2.0, f"Maximum output length per source token, plus {_SLACK}, unless `longest` is set."
    )

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

    def norm(self, length: int) -> float:
        """lp"""
        return float({"wu": (5 + length) / 6, "mean": length, "none": 1.0}[self.length_norm] ** self.length_penalty)

    def score(self, log_prob: float, length: int, coverage: float = 0.0) -> float:
        """`length` counts the end symbol; `coverage` is cp."""
        return log_prob / self.norm(length) + self.coverage_penalty * coverage

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

    prefix: str = _words("", "Begin the translation with exactly this text.")
    outline: str = _words("", f'Keep these words in order and fill each gap {GAP}: "le {GAP} dort".')
    include: tuple[str, ...] = _words((), "A phrase that the translation must contain. Can be repeated.")
    exclude: tuple[str, ...] = _words((), "A phrase that the translation must not contain. Can be repeated.")

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
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
        try:
            return cls(**fields)
        except OptionError as error:
            raise UserError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class PairOptions(Checked):
    """The pairs that a command reads."""

    pairs: Annotated[
        str, Help("A TSV file, the sources of two parallel files, - for standard input, or task:NAME.", argument=True)
    ]
    targets: Path | None = option(None, "The targets, if PAIRS has only the sources.", argument=True)
    count: Count = option(500, "Number of test pairs, if they come from a task.")
    seed: Seed = option(1, "Seed for the test pairs, if they come from a task.")


@dataclass(frozen=True, kw_only=True)
class EnsembleOptions(Checked):
    ensemble: tuple[Path, ...] = _ensemble((), "The folder of another model to combine with MODEL. Can be repeated.")
    average: Average = _ensemble(
        "probabilities", "What to average over the models: probabilities or log-probabilities."
    )
    weights: str = _ensemble("", "Weights of the models in order, such as 0.7,0.3 (default: equal weights).")

    @property
    def shares(self) -> tuple[float, ...]:
        try:
            return tuple(map(float, filter(None, self.weights.split(","))))
        except ValueError:
            raise OptionError("weights", f"{self.weights}: expected one number per model, such as 0.7,0.3") from None


@dataclass(frozen=True, kw_only=True)
class RerankingModels(Checked):
    """Models that judge the hypotheses of another model."""

    right_to_left: Path | None = _choice(None, "A model trained with data.right_to_left.")
    channel: Path | None = _choice(None, "A model for the reverse direction, for log p(source | translation).")
    prior: Path | None = _choice(None, "A language model (saccade lm train) of the targets, for log p(translation).")


@dataclass(frozen=True, kw_only=True)
class RerankingOptions(RerankingModels):
    """How one of all hypotheses is chosen, in place of the best of the search."""

    rerank_weights: Path | str | None = _choice(
        None,
        "Reranking weights: a file written by `saccade rerank`, or model=1,length=0,channel=0.5.",
        metavar="FILE|NAME=WEIGHT,…",
    )
    mbr: Metric | None = _choice(
        None, "Choose the hypothesis most similar to the others by chrF or BLEU (minimum Bayes risk)."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        others = (self.right_to_left, self.channel, self.prior, self.rerank_weights)
        if self.mbr is not None and any(other is not None for other in others):
            raise OptionError("mbr", f"{self.mbr} and reranking models each choose a translation; give one of them")

    @property
    def reranks(self) -> bool:
        return self != RerankingOptions()

    def search_all(self, search: Search) -> Search:
        """The search for what is ranked again: all hypotheses."""
        if not self.reranks:
            return search
        if search.beam == 1:
            raise OptionError("beam", "1 finds one hypothesis, and there is nothing to choose from; give 10, say")
        return replace(search, n_best=search.beam)


@dataclass(frozen=True, kw_only=True)
class FileOptions(Checked):
    """How `saccade translate` reads, checks, writes and draws."""

    out: Path | str | None = option(  # a URL, too, with --ray
        None,
        "Write to this file at the end. Repeat an interrupted command to continue where it stopped.",
        metavar="PATH",
    )
    restart: Restart = False
    too_long: TooLong = option(
        "split",
        "What to do with a text that is longer than every training text: split (into sentences), "
        "split-or-refuse, refuse or keep.",
    )
    heatmap: bool = option(False, "Show the attention after each translation.")
    plot: Path | None = option(
        None, "Draw the attention to this .svg, .png or .pdf file, numbered if there are several lines."
    )
    by: By = "auto"
    lang: Language | None = option(
        None, "Language of the labels of the figure (default: zh if LANG asks for Chinese, otherwise en)."
    )
    tag: Tag = None
    tree: Path | None = option(None, "Write the search trees to this file, one JSON object per line.")
    batch_tokens: SearchTokens = None
    chunk: Count | None = option(None, "Number of lines to process and save at a time (default: 512, more on a GPU).")
    explain: bool = option(False, "List the fast paths, and why one is not taken.")
    jsonl_in: bool = _json(False, "Read one JSON object per line, whatever the file's name.")
    field: str = _json("source", "The JSON field to translate; a.b is the field b inside a.")
    jsonl: bool = _json(False, "Print one JSON object per line, with scores, tokens and the alignment.")
    into: str | None = _json(None, "Put all new fields into this field of the object.")
    constraints_file: Path | None = _words(
        None,
        'A file with one JSON object of constraints per line, such as {"include": ["cat"]}; a blank line has none.',
        flags=("--constraints",),
    )
    replace_unknown: bool = _unknown(
        False, "Replace each unknown token with the source word that the model attended to."
    )
    dictionary: Path | None = _unknown(
        None, "Replace unknown tokens by the translations in this file: word TAB translation."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jsonl and self.heatmap:
            raise OptionError("jsonl", "is for programs and --heatmap for people; give one of them")
        if self.plot is not None and self.plot.suffix not in FIGURES:
            raise OptionError("plot", f"{self.plot}: expected a name that ends in {', '.join(FIGURES)}")

    @property
    def replaces_unknown(self) -> bool:
        return self.replace_unknown or self.dictionary is not None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Checked):
    """How `saccade score` writes."""

    out: Out = None
    restart: Restart = False
    value: Literal["log-prob", "mean", "perplexity"] = option(
        "log-prob", "The score to print: log-prob (of the whole target), mean (per token) or perplexity."
    )
    jsonl: bool = option(False, "Print one JSON object per line, with all scores of tokens and words.")
    summary: Path | None = option(None, "Write the totals to this file, as JSON.")
    tag: Tag = None
    batch_tokens: BatchTokens = 4096
    chunk: Chunk = 512
