"""What the laws are asked of: every named attention, and pairs of parts that no name has."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import torch

from saccade.attention import (
    ATTENTIONS,
    Additive,
    ALiBi,
    Attention,
    Block,
    Buckets,
    Causal,
    Coverage,
    Graph,
    LocationAware,
    Monotonic,
    Near,
    Predicted,
    RelativeKeys,
    Rotary,
    ScaledDot,
    Sliding,
    SoftmaxOrNothing,
    Sparsemax,
    Trilinear,
)
from saccade.attention.part import Law

WIDTH = 8
B, T, S = 2, 5, 7  # sentences, queries, slots of the numbers that most laws are asked on
DIMS = {"query_dim": WIDTH, "memory_dim": WIDTH, "width": WIDTH}
LONGEST = 160  # of the graph's adjacency


def _graph() -> Graph:
    generator = torch.Generator().manual_seed(5)
    return Graph(torch.rand(LONGEST, LONGEST, generator=generator) < 0.6)


def _attention(**parts: object) -> Attention:
    return Attention(**{**DIMS, **parts})  # type: ignore[arg-type]


PAIRS: dict[str, Callable[[], Attention]] = {
    "graph window": lambda: _attention(score=ScaledDot(), heads=2, window=_graph()),
    "additive in a graph": lambda: _attention(score=Additive(4, heads=2), heads=2, window=_graph()),
    "causal sliding": lambda: _attention(score=ScaledDot(), heads=2, window=Sliding(3, 0)),
    "narrow near": lambda: _attention(score=Additive(WIDTH), window=Near(1)),
    "small blocks": lambda: _attention(score=ScaledDot(), heads=2, window=Block(3)),
    "predicted and causal": lambda: _attention(score=ScaledDot(), window=Predicted(WIDTH, 4, radius=3) & Causal()),
    "predicted and near": lambda: _attention(score=ScaledDot(), window=Predicted(WIDTH, 4, radius=30) & Near(20)),
    "renormalised predicted": lambda: _attention(
        score=Additive(WIDTH), window=Predicted(WIDTH, 4, radius=3, renormalise=True)
    ),
    "coverage under causal": lambda: _attention(score=Coverage(4, heads=2, memory_dim=WIDTH), heads=2, window=Causal()),
    "location-aware, near, sparse": lambda: _attention(
        score=LocationAware(WIDTH, kernel=5), window=Near(2), normaliser=Sparsemax()
    ),
    "coverage and monotonic": lambda: _attention(score=Coverage(WIDTH, memory_dim=WIDTH), normaliser=Monotonic()),
    "monotonic dot": lambda: _attention(score=ScaledDot(), heads=2, normaliser=Monotonic(hard_when_testing=True)),
    "additive heads over shared keys": lambda: _attention(score=Additive(2, heads=4), heads=4, memory_heads=2),
    "buckets, rotary, causal, shared keys": lambda: _attention(
        score=ScaledDot(), heads=4, memory_heads=1, bias=Buckets(4), positions=Rotary(2), window=Causal()
    ),
    "ALiBi in a near window": lambda: _attention(score=ScaledDot(), heads=2, bias=ALiBi(2), window=Near(2)),
    "Shaw in blocks": lambda: _attention(score=ScaledDot(), heads=2, bias=RelativeKeys(2, 4, clip=3), window=Block(4)),
    "learned nothing": lambda: _attention(score=ScaledDot(), heads=2, normaliser=SoftmaxOrNothing(2, learned=True)),
    "heads apart": lambda: _attention(score=ScaledDot(), heads=2, project="qkv", per_head=True),
    "values from another stream": lambda: _attention(score=Trilinear(WIDTH), value_dim=WIDTH, project=""),
}

COMPOSITIONS: dict[str, Callable[[], Attention]] = {
    **{name: partial(factory, **DIMS) for name, factory in ATTENTIONS.items()},
    **PAIRS,
}


# One of each, to ask which laws bind it.
_BUILT = {name: make() for name, make in COMPOSITIONS.items()}


def keeping(law: Law) -> list[str]:
    """Those whose parts are not exempt."""
    assert law in get_args(Law)
    return [name for name, attention in _BUILT.items() if law not in attention.exempt]


def where(says: Callable[[Attention], bool]) -> list[str]:
    return [name for name, attention in _BUILT.items() if says(attention)]


def build(name: str, dtype: torch.dtype = torch.float64) -> Attention:
    """In evaluation mode, with parameters large enough that every part matters."""
    torch.manual_seed(1)
    attention = COMPOSITIONS[name]().to(dtype).eval()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.7)
    return attention
