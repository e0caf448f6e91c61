"""Scores: how well a query fits each slot of a memory, before normalising.

Two families. A `DotScore` is an inner product of two vectors, whatever is done to each vector first, so a fused kernel
can compute it; the others pass query and key together through a non-linearity, or ignore the key.
"""

import math
from abc import abstractmethod
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.additive import score_additively, why_not_additive_on_cpu
from saccade.attention.heads import matmul_in_range, share, widen
from saccade.attention.memory import Memory
from saccade.attention.part import Part

_LEAST_FERTILITY = 1e-3


class Score(Part):
    """scores (B, H, Q, S) of queries (B, H, Q, d) against memory.keys (B, G, S, d)."""

    projects: ClassVar[str] = ""  # which of q, k, v, o are projected by default
    compares: ClassVar[bool] = True  # False: keys are ignored, so they may have any width
    needs_history: ClassVar[bool] = False
    reach: int | None = None  # slots at this position and beyond get nothing

    def note(self, source: Tensor) -> Tensor | None:
        """(B, S, ·) to keep beside the keys, computed once from the source (B, S, memory_dim)."""
        return None

    @abstractmethod
    def forward(self, queries: Tensor, memory: Memory, history: Tensor | None) -> Tensor:
        """The scores of all queries; `history` is None unless the score needs one."""

    def begin(self, nothing: Tensor) -> Tensor:
        """The history before the first query, given zeros (R, H, S)."""
        return nothing

    def advance(self, history: Tensor, weights: Tensor, memory: Memory) -> Tensor:
        """The history after `weights` (B, H, Q, S) were read."""
        return weights


class DotScore(Score):
    """a(query) · b(key)"""

    def vectors(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """The two sides of the inner product."""
        return queries, keys

    def forward(self, queries: Tensor, memory: Memory, history: Tensor | None) -> Tensor:
        queries, keys = self.vectors(queries, memory.keys)
        return matmul_in_range(queries, keys.transpose(-1, -2))


class Dot(DotScore):
    """Luong 2015 *dot*."""

    name = "dot"
    formula = "q·k"


class ScaledDot(DotScore):
    """Vaswani 2017: divided by √d, so that the softmax does not saturate as d grows."""

    name = "scaled dot"
    formula = "q·k / √d"
    projects = "qkvo"

    def vectors(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        return queries / math.sqrt(queries.shape[-1]), keys


class Bilinear(Dot):
    """Luong 2015 *general*: the matrix is the projection of the keys, so it is applied once per sentence."""

    name = "bilinear"
    formula = "q·(W k)"
    projects = "k"


class Cosine(DotScore):
    """Graves 2014 content addressing: the angle alone, sharpened by a learned temperature."""

    name = "cosine"
    formula = "cos(q, k) / τ"

    def __init__(self, temperature: float = 0.1) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"temperature must be positive, got {temperature}")
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)))

    def vectors(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        return _unit(queries) / self.log_temperature.exp(), _unit(keys)


def _unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1. A zero vector stays zero, and its gradient stays finite."""
    shortest = max(1e-12, 16 * torch.finfo(vectors.dtype).tiny)  # the second is larger in float16 alone: 1e-3
    return F.normalize(widen(vectors), dim=-1, eps=shortest).to(vectors.dtype)


class Trilinear(DotScore):
    """Seo 2017: w·[q; k; q∘k], which is (w₃∘q + w₂)·k + w₁·q, an inner product of two vectors of d + 1."""

    name = "trilinear"
    formula = "w·[q; k; q∘k]"

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.of_query = nn.Parameter(torch.empty(width).uniform_(-1, 1) / math.sqrt(width))
        self.of_key = nn.Parameter(torch.empty(width).uniform_(-1, 1) / math.sqrt(width))
        self.of_both = nn.Parameter(torch.empty(width).uniform_(-1, 1) / math.sqrt(width))

    def vectors(self, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        query_term = (queries * self.of_query).sum(-1, keepdim=True)
        return torch.cat([queries * self.of_both + self.of_key, query_term], -1), F.pad(keys, (0, 1), value=1.0)


class Additive(Score):
    """Bahdanau 2014: a feed-forward network of one hidden layer scores each pair.

    q and k are projected (W s and U h). With `project="q"` only the query is: Luong's *concat* as he released it.
    `normalised` is the energy of Raffel 2017, g·v/‖v‖·tanh(…) + r, whose offset r starts low: reading starts late.
    """

    name = "additive"
    formula = "v·tanh(W q + U k)"
    projects = "qk"

    def __init__(
        self,
        width: int,
        heads: int = 1,
        *,
        bias: bool = False,
        normalised: bool = False,
        formula: str | None = None,  # as a listing shows it; None: the class's
    ) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.v = nn.Parameter(torch.empty(heads, width).uniform_(-1, 1) / math.sqrt(width))
        self.b = nn.Parameter(torch.zeros(heads, width)) if bias else None
        self.gain = nn.Parameter(torch.tensor(1 / math.sqrt(width))) if normalised else None
        self.offset = nn.Parameter(torch.tensor(-4.0)) if normalised else None
        if formula is not None:
            self.formula = formula

    def forward(self, queries: Tensor, memory: Memory, history: Tensor | None) -> Tensor:
        keys = share(memory.keys, queries.shape[1])
        if self.b is not None:
            keys = keys + self.b[:, None]
        v = self.v if self.gain is None else self.gain * F.normalize(self.v, dim=-1)
        if history is None and why_not_additive_on_cpu(queries) is None:
            return self._shift(score_additively(queries, keys, v))
        hidden = queries[:, :, :, None] + keys[:, :, None]  # (B, H, Q, S, d)
        if history is not None:
            largest = torch.finfo(hidden.dtype).max
            hidden = hidden + self.remembered(history.clamp_max(largest).to(hidden.dtype))
        # For one head, one product with a vector is faster than many small ones.
        hidden = torch.tanh(hidden)
        scores = hidden @ v[0] if v.shape[0] == 1 else (hidden @ v[:, None, :, None]).squeeze(-1)
        return self._shift(scores)

    def _shift(self, scores: Tensor) -> Tensor:
        return scores if self.offset is None else scores + self.offset

    def remembered(self, history: Tensor) -> Tensor:
        """The term that history (B, H, Q, S) adds to the hidden layer (B, H, Q, S, d), in a subclass that has one."""
        raise NotImplementedError(f"{type(self).__name__} keeps no history")


class LocationAware(Additive):
    """Chorowski 2015: the score sees the previous weights, convolved: f = F ∗ α₋₁."""

    name = "location-aware"
    formula = "v·tanh(W q + U k + M f + b), f = F ∗ α₋₁"
    needs_history = True

    def __init__(self, width: int, heads: int = 1, *, filters: int = 10, kernel: int = 201) -> None:
        super().__init__(width, heads, bias=True)
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, so that it has a middle; got {kernel}")
        self.convolution = nn.Conv1d(1, filters, kernel, padding=kernel // 2, bias=False)
        self.of_filters = nn.Linear(filters, width, bias=False)

    def remembered(self, history: Tensor) -> Tensor:
        features = self.convolution(history.reshape(-1, 1, history.shape[-1]))  # (B·H·Q, filters, S)
        hidden: Tensor = self.of_filters(features.transpose(1, 2))  # (B·H·Q, S, d)
        return hidden.reshape(*history.shape, hidden.shape[-1])


class Coverage(Additive):
    """Tu 2016, linguistic coverage: how much of a slot has been read, in units of the words it may become.

    C_i = C_{i−1} + α_i / Φ, with fertility Φ_j = N·sigmoid(u·h_j).
    """

    name = "coverage"
    formula = "v·tanh(W q + U k + c C₋₁), C = C₋₁ + α/Φ"
    needs_history = True

    def __init__(self, width: int, heads: int = 1, *, memory_dim: int, most: float = 2.0) -> None:
        super().__init__(width, heads)
        self.most = most  # N, the largest fertility
        self.of_coverage = nn.Parameter(torch.empty(heads, width).uniform_(-1, 1) / math.sqrt(width))
        self.fertility = nn.Linear(memory_dim, 1, bias=False)

    def note(self, source: Tensor) -> Tensor:
        # Where the sigmoid underflows to 0, α/Φ would be infinite.
        return (self.most * torch.sigmoid(widen(self.fertility(source)))).clamp_min(_LEAST_FERTILITY)

    def remembered(self, history: Tensor) -> Tensor:
        return history[..., None] * self.of_coverage[:, None, None]

    def advance(self, history: Tensor, weights: Tensor, memory: Memory) -> Tensor:
        assert memory.notes is not None
        return history + weights / memory.notes[:, None, None, :, 0]


class LocationOnly(Score):
    """Luong 2015 *location*: the query alone chooses a place; short sources use the first scores of the row."""

    name = "location"
    formula = "(W q)ⱼ, j < longest"
    compares = False

    def __init__(self, width: int, heads: int = 1, *, longest: int = 256) -> None:
        super().__init__()
        self.reach, self.width, self.heads = longest, width, heads
        self.weight = nn.Parameter(torch.empty(heads, width, longest).uniform_(-1, 1) / math.sqrt(width))

    def forward(self, queries: Tensor, memory: Memory, history: Tensor | None) -> Tensor:
        # For one head, one product with a matrix: the gradient is then not one matrix per sentence.
        scores = queries @ (self.weight[0] if self.heads == 1 else self.weight)  # (B, H, Q, longest)
        places = memory.positions.clamp(max=self.weight.shape[-1] - 1)[:, None, None]
        return scores.gather(-1, places.expand(*scores.shape[:-1], -1))
