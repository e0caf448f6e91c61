"""The state of a search: hypotheses that are open, hypotheses that are finished, and one step between them."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from saccade.decode.constraints.choice import ConstrainedChoice

NEVER = float("-inf")


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A finished hypothesis."""

    tokens: tuple[int, ...]  # without start and end
    token_log_probs: tuple[float, ...]  # of each token, and of the end symbol if it ended; unchanged by any mask
    log_prob: float
    score: float
    ended: bool  # False: cut off at the maximum length, or because no token was allowed
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason


class OpenHypotheses(NamedTuple):
    """The hypotheses that can still grow, N per sentence."""

    totals: Tensor  # (B, N) log-probability so far; −∞ if there is no hypothesis
    history: Tensor  # (B, N, t + 1) tokens, beginning with the start symbol
    log_probs: Tensor  # (B, N, t) log-probability of each token
    covered: Tensor | None  # (B, N, S) attention that each source token has received; None without a coverage penalty


class Expansion(NamedTuple):
    """The tokens chosen in one step."""

    rows: Tensor  # (B, N) which hypothesis is continued
    tokens: Tensor  # (B, N) with which token
    alive: Tensor  # (B, N) False if there is no hypothesis
    ranking: Tensor  # (B, N, V) the scores by which they were chosen


@dataclass
class SentenceSearch:
    """One sentence of a search."""

    index: int  # its number in the whole input, which decides its samples
    shortest: int
    longest: int
    places: list[int]  # of each group: how many hypotheses may still be open
    finished: list[list[Hypothesis]]  # of each group
    constrained: ConstrainedChoice | None = None
