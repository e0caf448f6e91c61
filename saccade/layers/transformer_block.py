"""The building blocks of a Transformer: the sublayer around a function, and the feed-forward networks."""

from collections.abc import Callable
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.positions import Rotary
from saccade.attention.table import build
from saccade.layers.convolution import Convolution
from saccade.layers.dropout import make_dropout
from saccade.layers.norms import NarrowLayerNorm
from saccade.layers.products import linear_relu

NormPlace = Literal["pre", "post"]
NormKind = Literal["layer", "rms", "none"]
FeedForwardKind = Literal["relu", "gated", "convolution"]


def norm(kind: NormKind, width: int, *, is_projected: bool = False) -> nn.Module:
    """`is_projected`: only linear layers read the result, which is no part of the residual sum."""
    if kind == "none":
        return nn.Identity()
    if kind == "rms":
        return nn.RMSNorm(width)
    return NarrowLayerNorm(width) if is_projected else nn.LayerNorm(width)


class Sublayer(nn.Module):
    """x + f(norm x), or norm(x + f x) as published; without the residual, f(norm x) or norm(f x)."""

    def __init__(self, width: int, *, place: NormPlace, kind: NormKind, residual: bool, dropout: float) -> None:
        super().__init__()
        self.norm = norm(kind, width, is_projected=place == "pre")
        self.place, self.residual = place, residual
        self.dropout = make_dropout(dropout)

    def forward(self, inputs: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        outputs = self.dropout(function(self.norm(inputs) if self.place == "pre" else inputs))
        if self.residual:
            outputs = inputs + outputs
        normed: Tensor = outputs if self.place == "pre" else self.norm(outputs)
        return normed


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
    """W₂ relu(W₁ x); gated, W₂ (silu(W₁ x)∘W₃ x) (Shazeer 2020); or with W₁ a convolution over time (causal in a
    decoder, where each step needs the previous inputs).
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
        else:
            hidden = linear_relu(self.first, inputs)
        outputs: Tensor = self.second(self.dropout(hidden))
        return outputs
