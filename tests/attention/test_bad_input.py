"""What does not fit gets one line that names the argument, what came and what was expected."""

import pytest
import torch

from saccade.attention import (
    ATTENTIONS,
    Additive,
    ALiBi,
    Attention,
    BidirectionalAttention,
    Block,
    Cosine,
    Dot,
    Graph,
    LocationAware,
    LocationOnly,
    Predicted,
    Rotary,
    ScaledDot,
    Sliding,
    SoftmaxOrNothing,
)
from saccade.attention.papers import luong2015, vaswani2017

DIMS = {"query_dim": 6, "memory_dim": 8, "width": 4}


def bahdanau() -> Attention:
    return ATTENTIONS["bahdanau2014"](**DIMS)


def one_line(error: pytest.ExceptionInfo[Exception], *words: str) -> None:
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("shape", [(2, 8), (2, 3, 6), (1, 2, 3, 8)])
def test_source_of_the_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError) as error:
        bahdanau().remember(torch.zeros(shape))
    one_line(error, "source", "memory_dim=8", str(shape))


@pytest.mark.parametrize("mask", [torch.ones(2, 3), torch.ones(2, 3, dtype=torch.long)])
def test_a_mask_that_is_not_bool_is_refused(mask: torch.Tensor) -> None:
    with pytest.raises(TypeError) as error:
        bahdanau().remember(torch.zeros(2, 3, 8), mask)
    one_line(error, "readable", "bool", "True where a slot may be read", str(mask.dtype))


def test_a_mask_of_the_wrong_shape() -> None:
    with pytest.raises(ValueError) as error:
        bahdanau().remember(torch.zeros(2, 3, 8), torch.ones(3, 2, dtype=torch.bool))
    one_line(error, "readable", "(2, 3)", "(3, 2)")


def test_values_that_do_not_match_the_source() -> None:
    with pytest.raises(ValueError) as error:
        bahdanau().remember(torch.zeros(2, 3, 8), values=torch.zeros(2, 4, 8))
    one_line(error, "values", "(2, 3, 8)", "(2, 4, 8)")
    two_streams = Attention(query_dim=8, memory_dim=8, value_dim=5, score=Dot())
    with pytest.raises(ValueError) as error:
        two_streams.remember(torch.zeros(2, 3, 8))
    one_line(error, "values must be given", "value_dim=5")


def test_token_ids_instead_of_vectors() -> None:
    with pytest.raises(TypeError) as error:
        bahdanau().remember(torch.zeros(2, 3, 8, dtype=torch.long))
    one_line(error, "source", "floating point", "int64")


def test_dtypes_that_differ() -> None:
    attention = bahdanau()
    with pytest.raises(TypeError) as error:
        attention.remember(torch.zeros(2, 3, 8, dtype=torch.float64))
    one_line(error, "source", "float64", "float32")
    memory = Attention(query_dim=8, memory_dim=8, score=Dot()).remember(torch.zeros(2, 3, 8))
    with pytest.raises(TypeError) as error:
        Attention(query_dim=8, memory_dim=8, score=Dot())(torch.zeros(2, 1, 8).double(), memory)
    one_line(error, "queries", "float64", "float32")


def test_devices_that_differ() -> None:
    attention = bahdanau()
    with pytest.raises(ValueError) as error:
        attention.remember(torch.zeros(2, 3, 8, device="meta"))
    one_line(error, "source", "meta", "cpu")
    with pytest.raises(ValueError) as error:
        attention.remember(torch.zeros(2, 3, 8), torch.ones(2, 3, dtype=torch.bool, device="meta"))
    one_line(error, "readable", "meta", "cpu")


def test_queries_that_do_not_fit() -> None:
    attention = bahdanau()
    memory = attention.remember(torch.zeros(2, 3, 8))
    with pytest.raises(ValueError) as error:
        attention(torch.zeros(2, 6), memory)
    one_line(error, "queries", "query_dim=6", "(2, 6)")
    with pytest.raises(ValueError) as error:
        attention(torch.zeros(6, 1, 6), memory)
    one_line(error, "queries have 6 rows", "2 sentences", "memory.shared(n)")


def test_a_memory_of_another_attention() -> None:
    two = vaswani2017(query_dim=6, memory_dim=8, width=4, heads=2)
    with pytest.raises(ValueError) as error:
        two(torch.zeros(2, 1, 6), bahdanau().remember(torch.zeros(2, 3, 8)))
    one_line(error, "1 key heads", "2", "remember()")
    with pytest.raises(ValueError) as error:
        two.remember(torch.zeros(2, 3, 8)).extend(two.remember(torch.zeros(1, 3, 8)))
    one_line(error, "extend", "(1, 2)", "(2, 2)")


@pytest.mark.parametrize("at", [torch.zeros(3, dtype=torch.long), torch.zeros(2), torch.zeros(2, 1, dtype=torch.long)])
def test_positions_that_do_not_fit(at: torch.Tensor) -> None:
    attention = bahdanau()
    with pytest.raises(ValueError) as error:
        attention(torch.zeros(2, 1, 6), attention.remember(torch.zeros(2, 3, 8)), at=at)
    one_line(error, "at must be", "(2,)", str(tuple(at.shape)))


def test_a_history_of_another_batch() -> None:
    attention = ATTENTIONS["tu2016"](**DIMS)
    reading = attention(torch.zeros(1, 1, 6), attention.remember(torch.zeros(1, 3, 8)))
    with pytest.raises(ValueError) as error:
        attention(torch.zeros(2, 1, 6), attention.remember(torch.zeros(2, 3, 8)), history=reading.history)
    one_line(error, "history has 1 rows", "queries 2")


def test_widths_that_cannot_be_compared() -> None:
    with pytest.raises(ValueError) as error:
        luong2015("global", "dot", **DIMS)
    one_line(error, "dot", "query_dim=6", "memory_dim=8", "project")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: vaswani2017(query_dim=6, memory_dim=6, width=6, heads=4), ["6", "heads=4"]),
        (lambda: vaswani2017(query_dim=6, memory_dim=6, width=6, heads=3, memory_heads=2), ["multiple", "3", "2"]),
        (lambda: Attention(query_dim=6, memory_dim=6, score=Dot(), project="qz"), ["project", "qz"]),
        (lambda: Attention(query_dim=6, memory_dim=6, score=ScaledDot(), per_head=True), ["per_head", "'o'"]),
        (lambda: Attention(query_dim=6, memory_dim=6, score=Dot(), dropout=1.5), ["dropout", "1.5"]),
        (lambda: Attention(query_dim=6, memory_dim=6, score=Dot(), bias=ALiBi(2)), ["ALiBi", "2 heads", "has 1"]),
        (lambda: luong2015("local", "dot", **DIMS), ["local-m", "'local'"]),
        (lambda: Sliding(-1, 2), ["left", "-1"]),
        (lambda: Block(0), ["size", "0"]),
        (lambda: Predicted(4, 4, radius=0), ["radius", "0"]),
        (lambda: Cosine(0.0), ["temperature", "0"]),
        (lambda: LocationAware(4, kernel=4), ["kernel", "odd", "4"]),
        (lambda: Rotary(3), ["even", "3"]),
        (lambda: Graph(torch.ones(2, 2)), ["adjacency", "bool", "float32"]),
        (lambda: Attention(query_dim=6, memory_dim=6, width=6, score=Additive(4)), ["additive", "width of 4", "has 6"]),
        (lambda: Attention(query_dim=6, memory_dim=6, score=LocationOnly(4)), ["location", "width of 4", "has 6"]),
        (lambda: Attention(query_dim=6, memory_dim=6, score=Dot(), positions=Rotary(4)), ["rotary", "4", "6"]),
        (
            lambda: Attention(query_dim=6, memory_dim=6, score=Dot(), heads=3, normaliser=SoftmaxOrNothing(2)),
            ["softmax or nothing", "2 heads", "has 3"],
        ),
    ],
)
def test_invalid_parts_are_refused(wrong: object, words: list[str]) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        wrong()  # type: ignore[operator]
    one_line(error, *words)


def test_a_graph_too_small_for_the_memory() -> None:
    attention = Attention(query_dim=4, memory_dim=4, score=Dot(), window=Graph(torch.ones(3, 3, dtype=torch.bool)))
    with pytest.raises(ValueError) as error:
        attention(torch.zeros(1, 2, 4), attention.remember(torch.zeros(1, 5, 4)))
    one_line(error, "adjacency has 3 rows and 3 columns", "2 queries and 5 slots")
    with pytest.raises(ValueError) as error:
        attention(torch.zeros(1, 4, 4), attention.remember(torch.zeros(1, 3, 4)))
    one_line(error, "4 queries")
    far = attention(torch.ones(1, 1, 4), attention.remember(torch.ones(1, 3, 4)), at=7)
    assert not far.context.any()  # a position outside the graph has no edges


def test_a_window_wider_than_the_memory_is_legal() -> None:
    attention = Attention(query_dim=4, memory_dim=4, width=4, score=Additive(4), window=Sliding(100, 100))
    everywhere = Attention(query_dim=4, memory_dim=4, width=4, score=Additive(4))
    everywhere.load_state_dict(attention.state_dict())
    source = torch.randn(1, 3, 4)
    narrow, wide = (a(source, a.remember(source)).context for a in (attention, everywhere))
    torch.testing.assert_close(narrow, wide)


def test_both_directions_need_two_sequences() -> None:
    with pytest.raises(ValueError) as error:
        BidirectionalAttention(4)(torch.zeros(1, 3, 4), torch.zeros(1, 0, 4))
    one_line(error, "at least one slot", "3 and 0")
