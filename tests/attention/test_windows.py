"""Windows against explicit loops over sentences, queries and slots."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transcriptions import Array, softmax

from saccade.attention import (
    ATTENTIONS,
    Attention,
    Block,
    Causal,
    Dot,
    Everywhere,
    Graph,
    Near,
    Predicted,
    Sliding,
    Window,
)

B, T, S, WIDTH = 2, 5, 6, 3
READABLE = torch.tensor([[True] * 6, [True, True, False, True, True, False]])
_generator = torch.Generator().manual_seed(0)
EDGES = torch.rand(20, 20, generator=_generator) < 0.5
EDGES_EACH = torch.rand(B, 20, 20, generator=_generator) < 0.5

Rule = Callable[[int, int, int], bool]  # of sentence, query's position, slot
WINDOWS: dict[str, tuple[Window, Rule]] = {
    "everywhere": (Everywhere(), lambda b, i, j: True),
    "causal": (Causal(), lambda b, i, j: j <= i),
    "sliding": (Sliding(1, 2), lambda b, i, j: i - 1 <= j <= i + 2),
    "sliding on itself": (Sliding(0, 0), lambda b, i, j: j == i),
    "sliding back": (Sliding(2, 0), lambda b, i, j: i - 2 <= j <= i),
    "near": (Near(1), lambda b, i, j: abs(i - j) <= 1),
    "wider than the memory": (Near(100), lambda b, i, j: True),
    "blocks of 1": (Block(1), lambda b, i, j: i == j),
    "blocks of 2": (Block(2), lambda b, i, j: i // 2 == j // 2),
    "a block wider than the memory": (Block(100), lambda b, i, j: True),
    "graph": (Graph(EDGES), lambda b, i, j: bool(EDGES[i, j])),
    "graph a sentence": (Graph(EDGES_EACH), lambda b, i, j: bool(EDGES_EACH[b, i, j])),
    "blocks of 3 and causal": (Block(3) & Causal(), lambda b, i, j: i // 3 == j // 3 and j <= i),
    "near and graph": (Near(2) & Graph(EDGES), lambda b, i, j: abs(i - j) <= 2 and bool(EDGES[i, j])),
    "three": (Sliding(3, 3) & Block(4) & Causal(), lambda b, i, j: i - 3 <= j <= i and i // 4 == j // 4),
}
each = pytest.mark.parametrize("name", WINDOWS)


def _read(
    queries: Array, source: Array, readable: Array, rule: Rule, first: list[int] | None = None
) -> tuple[Array, Array]:
    """softmax of q·k over the slots that the rule allows; the queries of a sentence start at its `first` position."""
    context, weights = np.zeros(queries.shape), np.zeros((len(queries), queries.shape[1], source.shape[1]))
    for b in range(len(queries)):
        for t in range(queries.shape[1]):
            i = t + (first[b] if first else 0)
            allowed = [j for j in range(source.shape[1]) if readable[b, j] and rule(b, i, j)]
            for j, a in softmax({j: float(queries[b, t] @ source[b, j]) for j in allowed}).items():
                weights[b, t, j] = a
                context[b, t] += a * source[b, j]
    return context, weights


def _inputs(queries: int = T, slots: int = S, *, sentences: int = B) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return (
        torch.randn(sentences, queries, WIDTH, generator=generator, dtype=torch.float64),
        torch.randn(sentences, slots, WIDTH, generator=generator, dtype=torch.float64),
    )


def _attention(window: Window) -> Attention:
    return Attention(query_dim=WIDTH, memory_dim=WIDTH, score=Dot(), window=window)


@each
@pytest.mark.parametrize("first", [None, [0, 0], [3, 3], [1, 4]], ids=["from 0", "at 0", "at 3", "each its own"])
def test_window_allows_what_its_rule_allows(name: str, first: list[int] | None) -> None:
    window, rule = WINDOWS[name]
    queries, source = _inputs()
    attention = _attention(window)
    memory = attention.remember(source, READABLE)
    at = None if first is None else first[0] if first[0] == first[1] else torch.tensor(first)
    reading = attention(queries, memory, at=at, weights=True)
    context, weights = _read(queries.numpy(), source.numpy(), READABLE.numpy(), rule, first)
    np.testing.assert_allclose(reading.weights[:, 0].numpy(), weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(reading.context.numpy(), context, rtol=0, atol=1e-12)
    np.testing.assert_allclose(attention(queries, memory, at=at).context.numpy(), context, rtol=0, atol=1e-12)


@each
def test_window_properties_hold(name: str) -> None:
    """`causal` and `band`, which the fused and banded reads trust."""
    window, rule = WINDOWS[name]
    for i in range(20):
        read = [j for b in range(B) for j in range(20) if rule(b, i, j)]
        assert not window.causal or all(j <= i for j in read)
        if window.band is not None:
            assert all(i - window.band[0] <= j <= i + window.band[1] for j in read)


def test_two_windows_have_the_narrower_band_on_each_side() -> None:
    assert (Sliding(3, 0) & Block(2)).band == (1, 0)
    assert (Causal() & Sliding(3, 1)).band == (3, 0)
    assert (Causal() & Everywhere()).band is None


def test_near_beyond_the_end_of_the_source_reads_zero() -> None:
    queries, source = _inputs(queries=5, slots=2)
    attention = _attention(Near(1))
    for reading in (attention(queries, attention.remember(source), weights=w) for w in (True, False)):
        assert (reading.context[:, 3:] == 0).all()
        assert (reading.context[:, :3] != 0).all()


@settings(deadline=None, max_examples=25)
@given(
    queries=st.integers(1, 150),
    slots=st.integers(1, 150),
    left=st.integers(0, 40),
    right=st.integers(0, 40),
    block=st.sampled_from([None, 1, 7, 30]),
)
def test_a_band_read_in_chunks_is_the_same(queries: int, slots: int, left: int, right: int, block: int | None) -> None:
    window = Sliding(left, right) if block is None else Sliding(left, right) & Block(block)
    asked, source = _inputs(queries, slots)
    attention = _attention(window)
    memory = attention.remember(source)
    whole = attention(asked, memory, weights=True).context
    torch.testing.assert_close(attention(asked, memory).context, whole, rtol=0, atol=1e-10)


def test_long_band_matches_the_loops() -> None:
    queries, source = _inputs(200, 150, sentences=1)
    attention = _attention(Sliding(3, 2))
    readable = np.ones((1, 150), dtype=bool)
    context, _ = _read(queries.numpy(), source.numpy(), readable, lambda b, i, j: i - 3 <= j <= i + 2)
    found = attention(queries, attention.remember(source)).context
    np.testing.assert_allclose(found.numpy(), context, rtol=0, atol=1e-12)


def _still(window: Predicted) -> Predicted:
    """With v = 0 the place is the middle, p = S/2."""
    torch.nn.init.zeros_(window.place.weight)
    return window.double()


@pytest.mark.parametrize("renormalise", [False, True])
def test_predicted_by_hand(renormalise: bool) -> None:
    """Slots are numbered from 0, scores are equal, D = 1. S = 4: p = 2, a third of e⁻², 1, e⁻² on slots 1, 2, 3.
    S = 2: p = 1, a half of e⁻², 1 on slots 0, 1.
    """
    window = _still(Predicted(WIDTH, 5, radius=1, renormalise=renormalise))
    attention = _attention(window)
    readable = torch.tensor([[True, True, True, True], [True, True, False, False]])
    queries, source = torch.zeros(2, 1, WIDTH, dtype=torch.float64), torch.zeros(2, 4, WIDTH, dtype=torch.float64)
    weights = attention(queries, attention.remember(source, readable), weights=True).weights[:, 0, 0]
    e = math.exp(-2)
    tapered = [[0, e / 3, 1 / 3, e / 3], [e / 2, 1 / 2, 0, 0]]
    expected = [[w / sum(row) for w in row] if renormalise else row for row in tapered]
    for found, row in zip(weights.tolist(), expected):
        assert found == pytest.approx(row, abs=1e-12)


@pytest.mark.parametrize("renormalise", [(False, False), (False, True), (True, False), (True, True)])
def test_two_predicted_windows_together(renormalise: tuple[bool, bool]) -> None:
    """The tapers are multiplied, over the slots of both, and the weights are renormalised if either window asks for it.

    S = 4, scores are equal and p = 2. D = 1 lets slots 1, 2, 3 through with e⁻², 1, e⁻², and D = 2 all four with
    e⁻², e⁻½, 1, e⁻½: together a third of e⁻²·⁵, 1, e⁻²·⁵.
    """
    narrow, wide = (_still(Predicted(WIDTH, 5, radius=r, renormalise=n)) for r, n in zip((1, 2), renormalise))
    queries, source = torch.zeros(1, 1, WIDTH, dtype=torch.float64), torch.zeros(1, 4, WIDTH, dtype=torch.float64)
    both = math.exp(-2.5)
    expected = [weight / ((1 + 2 * both) if any(renormalise) else 3) for weight in (0, both, 1, both)]
    for window in (narrow & wide, wide & narrow):
        attention = _attention(window)
        weights = attention(queries, attention.remember(source), weights=True).weights[0, 0, 0]
        assert weights.tolist() == pytest.approx(expected, abs=1e-12)


def test_predicted_and_causal_together() -> None:
    """The taper of the one, the slots of both: the softmax is over slots 1 and 2 for the query at 2."""
    attention = _attention(_still(Predicted(WIDTH, 5, radius=1)) & Causal())
    queries, source = torch.zeros(1, 3, WIDTH, dtype=torch.float64), torch.zeros(1, 4, WIDTH, dtype=torch.float64)
    weights = attention(queries, attention.remember(source), weights=True).weights[0, 0]
    e = math.exp(-2)
    assert weights.tolist() == [pytest.approx(row) for row in ([0, 0, 0, 0], [0, e, 0, 0], [0, e / 2, 1 / 2, 0])]


def test_a_causal_transformer_in_a_window_stays_causal() -> None:
    attention = ATTENTIONS["vaswani2017"](query_dim=8, memory_dim=8, width=8, causal=True, window=Sliding(2, 2))
    source = torch.randn(1, 6, 8)
    weights = attention(source, attention.remember(source), weights=True).weights
    assert attention.window.causal and attention.window.band == (2, 0)
    assert torch.equal(weights.any(1).squeeze(0), torch.ones(6, 6).tril().triu(-2).bool())


def test_graph_needs_one_column_per_slot() -> None:
    attention = _attention(Graph(torch.ones(5, 3, dtype=torch.bool)))
    queries, source = _inputs(5, 4)
    with pytest.raises(ValueError, match="3 columns, too few for 5 queries and 4 slots"):
        attention(queries, attention.remember(source))


def test_graph_must_be_bool() -> None:
    with pytest.raises(TypeError, match="bool"):
        Graph(torch.ones(3, 3))
