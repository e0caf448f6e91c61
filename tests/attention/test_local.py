"""Reading only the window around a predicted place gives what the plain read of the whole memory gives."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from compositions import DIMS, WIDTH
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from saccade.attention import (
    ATTENTIONS,
    ALiBi,
    Attention,
    Causal,
    Graph,
    Near,
    Predicted,
    RelativeKeys,
    Rotary,
    Sampled,
    ScaledDot,
    Sparsemax,
    local,
)

SENTENCES, QUERIES, SLOTS, READERS = 3, 6, 200, 2
LOCAL_P = [name for name in ATTENTIONS if name.startswith("luong2015-local-p")]


def _attention(**parts: Any) -> Attention:
    return Attention(**{**DIMS, "score": ScaledDot(), "window": Predicted(WIDTH, 4, radius=2), **parts})


COMPOSITIONS: dict[str, Callable[[], Attention]] = {
    **{name: lambda name=name: ATTENTIONS[name](**DIMS, radius=2) for name in LOCAL_P},
    "renormalised": lambda: _attention(window=Predicted(WIDTH, 4, radius=3, renormalise=True)),
    "shared keys and heads apart": lambda: _attention(heads=4, memory_heads=2, project="qkv", per_head=True),
    "rotary and ALiBi": lambda: _attention(heads=2, positions=Rotary(4), bias=ALiBi(2)),
    "Shaw keys": lambda: _attention(heads=2, bias=RelativeKeys(2, 4, clip=3)),
    "and causal": lambda: _attention(window=Causal() & Predicted(WIDTH, 4, radius=2)),
    "and near and a graph": lambda: _attention(
        window=Predicted(WIDTH, 4, radius=2) & Near(150) & Graph(torch.rand(SLOTS, SLOTS) < 0.8)
    ),
    "two places": lambda: _attention(window=Predicted(WIDTH, 4, radius=5) & Predicted(WIDTH, 4, radius=3)),
    "sparse": lambda: _attention(normaliser=Sparsemax()),
}
each = pytest.mark.parametrize("name", COMPOSITIONS)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of queries of each read of windows alone."""
    counts: list[int] = []
    read = local.read_near

    def counted(plain: Any, window: Any, queries: Tensor, *others: Any) -> Any:
        counts.append(queries.shape[1])
        return read(plain, window, queries, *others)

    monkeypatch.setattr(local, "read_near", counted)
    return counts


def _built(name: str) -> Attention:
    torch.manual_seed(1)
    attention = COMPOSITIONS[name]().double().eval()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return attention


def _numbers(rows: int, queries: int = QUERIES) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    asked = torch.randn(rows, queries, WIDTH, dtype=torch.float64, generator=generator).requires_grad_()
    source = torch.randn(SENTENCES, SLOTS, WIDTH, dtype=torch.float64, generator=generator).requires_grad_()
    readable = torch.rand(SENTENCES, SLOTS, generator=generator) < 0.8
    readable[1, 120:] = False
    readable[2] = False  # a sentence with nothing to read
    return asked, source, readable


@each
@pytest.mark.parametrize("masked", [True, False])
def test_context_and_gradients_equal_the_plain_read(name: str, masked: bool, reads: list[int]) -> None:
    attention = _built(name)
    queries, source, readable = _numbers(SENTENCES)
    memory = attention.remember(source, readable if masked else None)
    plain, quick = (attention(queries, memory, weights=weights).context for weights in (True, False))
    assert reads == [QUERIES]
    torch.testing.assert_close(quick, plain, rtol=1e-9, atol=1e-10)
    leaves = [queries, source, *attention.parameters()]
    direction = torch.randn(plain.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    expected, found = (
        torch.autograd.grad(context, leaves, direction, retain_graph=True, allow_unused=True)
        for context in (plain, quick)
    )
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-9)


@each
def test_hypotheses_step_by_step_read_the_same(name: str, reads: list[int]) -> None:
    attention = _built(name)
    queries, source, readable = _numbers(SENTENCES * READERS)
    memory = attention.remember(source, readable).shared(READERS)
    whole = attention(queries, memory, weights=True).context
    for t in range(QUERIES):
        step = attention(queries[:, t : t + 1], memory, at=t).context
        torch.testing.assert_close(step, whole[:, t : t + 1], rtol=1e-9, atol=1e-10)
    assert reads == [1] * QUERIES


def test_the_ends_of_the_memory_are_read() -> None:
    """A place at either end, where the window leaves the memory."""
    attention = _built("luong2015-local-p-dot")
    queries, source, readable = _numbers(SENTENCES, 40)
    with torch.no_grad():
        attention.window.place.weight *= 100  # the share is 0 or 1, but for a few
    memory = attention.remember(source, readable)
    place = attention.window.centre(queries, memory)[0]
    assert (place < 0.1).any() and (place > readable[0].sum() - 0.1).any()
    plain, quick = (attention(queries, memory, weights=weights).context for weights in (True, False))
    torch.testing.assert_close(quick, plain, rtol=1e-9, atol=1e-10)


def test_many_queries_are_read_in_parts() -> None:
    attention = _built("renormalised")
    queries, source, readable = _numbers(SENTENCES, 400)
    memory = attention.remember(source, readable)
    plain, quick = (attention(queries, memory, weights=weights).context for weights in (True, False))
    torch.testing.assert_close(quick, plain, rtol=1e-9, atol=1e-10)


def test_plain_read_is_used_where_it_is_as_fast(reads: list[int]) -> None:
    attention = _built("luong2015-local-p-general")
    queries, source, _ = _numbers(SENTENCES)
    attention(queries, attention.remember(source[:, :60]))
    attention(queries, attention.remember(source, at=0))  # slots may lie anywhere
    edges = Graph(torch.ones(SENTENCES, SLOTS, SLOTS, dtype=torch.bool))  # of each sentence
    attention = _attention(window=Predicted(WIDTH, 4, radius=2) & edges).double()
    attention(queries, attention.remember(source))
    attention = _attention(normaliser=Sampled()).double()  # what is drawn is counted by sentence
    assert attention(queries, attention.remember(source)).log_prob.shape == (SENTENCES, 1, QUERIES)
    assert not reads


class _Largest(TorchDispatchMode):
    """The number of elements of the largest tensor made inside."""

    elements = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(made) if isinstance(leaf, Tensor)]
        self.elements = max(self.elements, *sizes, 0)
        return made


@pytest.mark.parametrize("name", ["luong2015-local-p-general", "luong2015-local-p-concat"])
def test_memory_grows_with_the_window_and_not_with_the_source(name: str) -> None:
    length = 600
    attention = ATTENTIONS[name](**DIMS, radius=2)
    text = torch.randn(1, length, WIDTH, requires_grad=True)
    with _Largest() as largest:
        attention(text, attention.remember(text)).context.sum().backward()
    assert largest.elements <= length * attention.window.span * WIDTH < length * length
