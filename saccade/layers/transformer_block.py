"""The building blocks of a Transformer: the sublayer around a function, and the feed-forward networks."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.positions import Learned, Rotary, Sinusoidal
from saccade.attention.table import build
from saccade.layers.convolution import Convolution
from saccade.layers.dropout import active_share, make_dropout
from saccade.layers.norms import NarrowLayerNorm, why_not_fused
from saccade.products import linear_relu

NormPlace = Literal["pre", "post"]
NormKind = Literal["layer", "rms", "none"]
FeedForwardKind = Literal["relu", "gelu", "gated", "convolution"]
PositionKind = Literal["sinusoidal", "learned", "rotary", "none"]


def norm(kind: NormKind, width: int, *, is_projected: bool = False) -> nn.Module:
    """`is_projected`: only linear layers read the result, which is no part of the residual sum."""
    if kind == "none":
        return nn.Identity()
    if kind == "rms":
        return nn.RMSNorm(width)
    return NarrowLayerNorm(width) if is_projected else nn.LayerNorm(width)


class Biased(NamedTuple):
    """f + b, which is not yet added"""

    outputs: Tensor
    bias: Tensor | None

    def total(self) -> Tensor:
        return self.outputs if self.bias is None else self.outputs + self.bias


Function = Callable[[Tensor], Tensor | Biased]


class Sum(NamedTuple):
    """x + dropout(f + b), which the next norm computes: on CUDA, one kernel adds and normalises."""

    inputs: Tensor  # x
    added: Biased | None = None  # None: nothing is added
    dropout: nn.Module | None = None

    def total(self) -> Tensor:
        if self.added is None:
            return self.inputs
        added = self.added.total()
        return self.inputs + (added if self.dropout is None else self.dropout(added))

    def normed_by(self, norm: nn.Module) -> tuple[Tensor, Tensor]:
        """The total and its norm"""
        if self.added is None or not isinstance(norm, nn.LayerNorm) or why_not_together(self.inputs) is not None:
            total = self.total()
            return total, norm(total)
        from saccade.layers.dropout_triton import draw_seed
        from saccade.layers.norms_triton import fused_sum_and_norm

        dtype = torch.get_autocast_dtype("cuda") if isinstance(norm, NarrowLayerNorm) else torch.float32
        share = active_share(self.dropout)
        seed = draw_seed(self.inputs.device) if share else None
        return fused_sum_and_norm(self.inputs, *self.added, seed, share, norm, dtype)


def why_not_together(x: Tensor) -> str | None:
    """The reason why sums, dropout and the functions that follow are separate kernels, or None."""
    if (reason := why_not_fused(x)) is not None:
        return reason
    return None if torch.is_autocast_enabled("cuda") else "it is for half precision"


def make_positions(kind: PositionKind, width: int, longest: int) -> nn.Module | None:
    """What is added to the inputs; rotary positions belong to the attention."""
    if kind == "learned":
        return Learned(width, longest)
    return Sinusoidal(width) if kind == "sinusoidal" else None


def placed(
    vectors: Tensor, positions: nn.Module | None, dropout: nn.Module, *, scale: float = 1.0, at: Tensor | None = None
) -> Tensor:
    """dropout(c x + p) for vectors (B, T, D) at their places, or at the positions `at` (R, T)"""
    where = torch.arange(vectors.shape[1], device=vectors.device)[None] if at is None else at
    if at is None and isinstance(positions, Sinusoidal) and why_not_together(vectors) is None:
        return _place_together(vectors, scale, positions.waves(where), dropout)
    vectors = vectors if scale == 1.0 else vectors * scale
    dropped: Tensor = dropout(vectors if positions is None else positions(vectors, where))
    return dropped


def _place_together(vectors: Tensor, scale: float, places: Tensor, dropout: nn.Module) -> Tensor:
    """dropout(c x + p) for vectors (B, T, D) and places (1, T, D), in one kernel"""
    from saccade.layers.dropout_triton import FusedPlacing, draw_seed

    share = active_share(dropout)
    seed = draw_seed(vectors.device) if share else None
    function: type[torch.autograd.Function] = FusedPlacing
    placed: Tensor = function.apply(vectors, scale, places, seed, share)
    return placed


class Sublayer(nn.Module):
    """x + f(norm x), or norm(x + f x) as published; without the residual, f(norm x) or norm(f x).

    With the probability `stochastic_depth`, f is left out of an update; otherwise, it is scaled so that its mean stays.
    """

    def __init__(
        self,
        width: int,
        *,
        place: NormPlace,
        kind: NormKind,
        residual: bool,
        dropout: float,
        stochastic_depth: float = 0.0,
    ) -> None:
        super().__init__()
        self.norm = norm(kind, width, is_projected=place == "pre")
        self.place, self.residual = place, residual
        self.dropout, self.stochastic_depth = make_dropout(dropout), stochastic_depth

    def forward(self, before: Sum, function: Function) -> Sum:
        """`before` is the result of the sublayer before."""
        if self.place == "pre":
            inputs, normed = before.normed_by(self.norm)
            return self._sum(inputs, function(normed))
        inputs = before.total()
        _, normed = self._sum(inputs, function(inputs)).normed_by(self.norm)
        return Sum(normed)

    def _sum(self, inputs: Tensor, outputs: Tensor | Biased) -> Sum:
        added = outputs if isinstance(outputs, Biased) else Biased(outputs, None)
        if self.training and self.stochastic_depth and self.residual:
            total = added.total()
            added = Biased(total * F.dropout(total.new_ones(()), self.stochastic_depth), None)  # all sentences alike
        return Sum(inputs, added, self.dropout) if self.residual else Sum(self.dropout(added.total()))


class Site(nn.Module):
    """One of a Transformer's three places for an attention, with the attention chosen for it."""

    def __init__(
        self, name: str, width: int, *, heads: int, dropout: float, causal: bool = False, rotary: bool = False
    ) -> None:
        super().__init__()
        attention = build(
            name, query_dim=width, memory_dim=width, width=width, heads=heads, dropout=dropout, causal=causal
        )
        if rotary and attention.positions is None:
            attention = attention.with_parts(positions=Rotary(attention.head_width))
        self.attention = attention
        read = self.attention.context_dim  # without an output projection, the context may have another width
        self.output = nn.Linear(read, width, bias=False) if read != width else nn.Identity()


class FeedForward(nn.Module):
    """W₂ relu(W₁ x); with a GELU (Hendrycks 2016) instead; gated, W₂ (silu(W₁ x)∘W₃ x) (Shazeer 2020); or with W₁ a
    convolution over time (causal in a decoder, where each step needs the previous inputs).
    """

    def __init__(
        self, width: int, inner: int, *, kind: FeedForwardKind, dropout: float, kernel: int = 3, causal: bool = False
    ) -> None:
        super().__init__()
        self.kind = kind
        if kind == "convolution":
            self.first: nn.Module = Convolution(width, inner, kernel, causal=causal)
        else:
            self.first = nn.Linear(width, 2 * inner if kind == "gated" else inner)
        self.second = nn.Linear(inner, width)
        self.dropout = make_dropout(dropout)

    @property
    def remembers(self) -> int:
        """How many previous inputs a step needs."""
        return self.first.remembers if isinstance(self.first, Convolution) else 0

    def forward(self, inputs: Tensor, readable: Tensor | None = None, before: Tensor | None = None) -> Tensor:
        """inputs (B, T, width); `before` (B, kernel − 1, width): the previous inputs"""
        if self.kind == "convolution":
            hidden = F.relu(self.first(inputs, readable, before), inplace=True)
        elif self.kind == "gated":
            gate, inner = self.first(inputs).chunk(2, -1)
            hidden = F.silu(gate) * inner
        elif self.kind == "gelu":
            hidden = F.gelu(self.first(inputs))
        else:
            hidden = linear_relu(self.first, inputs)
        outputs: Tensor = self.second(self.dropout(hidden))
        return outputs

    def without_bias(self, inputs: Tensor, readable: Tensor | None = None, before: Tensor | None = None) -> Biased:
        """The same before its last bias is added, where another kernel can add it and sum its gradient."""
        if self.kind != "relu" or why_not_together(inputs) is not None:
            return Biased(self(inputs, readable, before), None)
        from saccade.layers.dropout_triton import FusedReluDropout, draw_seed

        assert isinstance(self.first, nn.Linear)
        function: type[torch.autograd.Function] = FusedReluDropout
        share = active_share(self.dropout)
        seed = draw_seed(inputs.device) if share else None
        hidden = function.apply(F.linear(inputs, self.first.weight), self.first.bias, seed, share)
        return Biased(F.linear(hidden, self.second.weight), self.second.bias)
