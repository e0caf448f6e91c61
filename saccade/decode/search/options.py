"""How to search: every option of every mode, checked when it is made; and what a hypothesis scores under them."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from saccade.ranges import (
    Beam,
    Checked,
    Count,
    Exponent,
    Length,
    LengthOrZero,
    NotNegative,
    Probability,
    Ratio,
    Seed,
    Temperature,
    UpToOne,
)

LengthNorm = Literal["wu", "mean", "none"]
_SLACK = 10  # tokens that even the shortest source may become


@dataclass(frozen=True, kw_only=True)
class Search(Checked):
    """A score is log p(y) / lp(y) + β·cp(x, y), where |y| counts the end symbol, and

    lp = ((5 + |y|)/6)^α  "wu" (Wu 2016) · |y|^α  "mean" · 1  "none"
    cp = Σ_j log min(1, Σ_i a_ij)                         of the attention a_ij that step i paid to source piece j
    """

    beam: Beam = 1  # hypotheses a sentence, of all groups together; when sampling, samples a sentence
    n_best: Beam = 1  # how many hypotheses must be right before the search may end
    length_norm: LengthNorm = "wu"
    length_penalty: Exponent = 1.0  # α; 0 is plain log-probability
    coverage_penalty: NotNegative = 0.0  # β: above 0, source pieces that were never looked at cost
    sample: bool = False
    temperature: Temperature = 1.0
    top_k: Count | None = None  # draw among the k most probable
    top_p: UpToOne = 1.0  # draw among the fewest that hold this much probability
    min_p: Probability = 0.0  # draw among those at least so probable, compared with the most probable
    seed: Seed = 1  # of samples; sentence i draws from its own stream, so a batch's company does not matter
    groups: Beam = 1  # of a diverse beam (Vijayakumar 2016): each is kept from what the ones before it wrote
    diversity: NotNegative = 0.5  # cost of a token for each hypothesis of an earlier group that wrote it at this step
    no_repeat: Length | None = None  # no run of so many tokens comes twice
    repeats: Length | None = None  # no run of tokens comes more often than this in a row: the end of endless loops
    shortest: LengthOrZero = 0  # tokens, without the end
    shortest_ratio: Ratio = 0.0  # the same, a token of the source
    longest: Length | None = None  # tokens with the end; None: by the ratio, and 10 more
    longest_ratio: Ratio = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length_norm not in get_args(LengthNorm):
            raise ValueError(f"length_norm must be {', '.join(get_args(LengthNorm))}, got {self.length_norm!r}")
        if self.n_best > self.beam:
            raise ValueError(f"n_best must be from 1 to the beam of {self.beam}, got {self.n_best}")
        if self.longest is not None and self.shortest >= self.longest:
            raise ValueError(
                f"shortest must leave room for the end within the longest of {self.longest}, got {self.shortest}"
            )
        self._check_mode()

    def _check_mode(self) -> None:
        drawn = {"temperature": 1.0, "top_k": None, "top_p": 1.0, "min_p": 0.0}
        if not self.sample and (idle := [name for name, off in drawn.items() if getattr(self, name) != off]):
            raise ValueError(f"{idle[0]} is for samples, got {getattr(self, idle[0])} without sample")
        if self.sample and self.groups > 1:
            raise ValueError(f"groups are of a beam, not of samples, got {self.groups}")
        if self.beam % self.groups:
            raise ValueError(f"groups must divide the beam of {self.beam}, got {self.groups}")

    @property
    def layout(self) -> tuple[int, int]:
        """(G, K): hypotheses compete within a group, so every sample is a group of its own."""
        return (self.beam, 1) if self.sample else (self.groups, self.beam // self.groups)

    def lengths(self, source: int, needed: int = 0) -> tuple[int, int]:
        """(shortest, longest) output of a source of so many tokens; `needed` are asked for and get room besides."""
        longest = self.longest or math.ceil(self.longest_ratio * source) + _SLACK + needed
        shortest = max(self.shortest, math.ceil(self.shortest_ratio * source))
        return min(shortest, longest - 1), longest

    def score(self, log_prob: float, length: int, coverage: float = 0.0) -> float:
        """`length` counts the end symbol; `coverage` is cp."""
        if self.length_norm == "none":
            norm = 1.0
        else:
            norm = ((5 + length) / 6 if self.length_norm == "wu" else length) ** self.length_penalty
        return float(log_prob / norm + self.coverage_penalty * coverage)

    def most(self, log_prob: float, length: int, shortest: int, longest: int) -> float:
        """No continuation scores more: log-probability only falls, cp is at most 0, and lp is monotone in the length,
        so that the most is at the first or at the last length at which it may end."""
        return max(self.score(log_prob, at) for at in (max(length, shortest) + 1, longest))


DEFAULT_SEARCH = Search(beam=5, length_penalty=1.0, repeats=8)
