"""The laws of attention, asked of every composition. A part that cannot keep one says so in its class, and the law is
then not asked of compositions that have it.
"""

from typing import get_args

import pytest
import torch
from compositions import COMPOSITIONS, WIDTH, B, S, T, build, keeping, where
from torch import Tensor

from saccade.attention import Attention, History, Memory, Reading
from saccade.attention.part import Law

N = 3  # hypotheses
CLOSE = {"rtol": 1e-9, "atol": 1e-10}

every = pytest.mark.parametrize("name", COMPOSITIONS)
causal = pytest.mark.parametrize("name", where(lambda attention: attention.window.causal))
without_history = pytest.mark.parametrize("name", where(lambda attention: not attention.needs_history))


def that_keep(law: Law) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", keeping(law))


def read(attention: Attention, queries: Tensor, source: Tensor, readable: Tensor | None = None) -> Reading:
    return attention(queries, attention.remember(source, readable), weights=True)


@every
def test_one_query_at_a_time_equals_many(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    memory = attention.remember(source, readable)
    whole = attention(queries, memory, weights=True)
    history: History | None = None
    for t in range(T):
        one = attention(queries[:, t : t + 1], memory, at=t, history=history, weights=True)
        history = one.history
        torch.testing.assert_close(one.context, whole.context[:, t : t + 1], **CLOSE)
        torch.testing.assert_close(one.weights, whole.weights[:, :, t : t + 1], **CLOSE)
    for last, kept in zip(history or (), whole.history or ()):
        assert (last is None) == (kept is None)
        if last is not None:
            torch.testing.assert_close(last, kept, **CLOSE)


@every
def test_rows_may_have_different_positions(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    memory = attention.remember(source, readable)
    ragged = attention(queries[:, :2], memory, at=torch.tensor([3, 0]))
    alone = attention(queries[:1, :2], attention.remember(source[:1], readable[:1]), at=3)
    torch.testing.assert_close(ragged.context[:1], alone.context, **CLOSE)


def grow(attention: Attention, source: Tensor) -> Memory:
    """A memory of the first T slots, one after the other."""
    memory = attention.remember(source[:, :1], at=0)
    for t in range(1, T):
        memory = memory.extend(attention.remember(source[:, t : t + 1], at=t))
    return memory


@every
def test_grown_memory_has_the_same_keys_as_a_whole_one(name: str, numbers: tuple[Tensor, ...]) -> None:
    _, source, _ = numbers
    attention = build(name)
    torch.testing.assert_close(grow(attention, source).keys, attention.remember(source[:, :T]).keys, **CLOSE)


@without_history
def test_grown_memory_reads_the_same_as_a_whole_one(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, _ = numbers
    attention = build(name)
    memories = grow(attention, source), attention.remember(source[:, :T])
    grown, fixed = (attention(queries[:, T - 1 : T], memory, at=T - 1, weights=True) for memory in memories)
    torch.testing.assert_close(grown.context, fixed.context, **CLOSE)
    torch.testing.assert_close(grown.weights, fixed.weights, **CLOSE)


@every
def test_a_memory_may_grow_while_it_is_read(name: str, numbers: tuple[Tensor, ...]) -> None:
    """With a history, each step has its own number of slots: what is read then is a reading of those slots."""
    queries, source, _ = numbers
    attention = build(name)
    memory, history = attention.remember(source[:, :1], at=0), None
    for t in range(T):
        if t:
            memory = memory.extend(attention.remember(source[:, t : t + 1], at=t))
        reading = attention(queries[:, t : t + 1], memory, at=t, history=history, weights=True)
        history = reading.history
        assert reading.weights.shape[-1] == t + 1
        assert all(kept is None or kept.shape[-1] == t + 1 for kept in history or ())


@causal
def test_cached_self_attention_equals_the_whole(name: str, numbers: tuple[Tensor, ...]) -> None:
    _, source, _ = numbers
    attention = build(name)
    whole = attention(source, attention.remember(source), weights=True)
    cache: Memory | None = None
    history: History | None = None
    for t in range(S):
        new = attention.remember(source[:, t : t + 1], at=t)
        cache = new if cache is None else cache.extend(new)
        step = attention(source[:, t : t + 1], cache, at=t, history=history)
        history = step.history
        torch.testing.assert_close(step.context, whole.context[:, t : t + 1], **CLOSE)


@every
def test_hypotheses_of_a_sentence_share_its_memory(name: str, numbers: tuple[Tensor, ...]) -> None:
    _, source, readable = numbers
    attention = build(name)
    queries = torch.randn(B * N, T, WIDTH, dtype=torch.float64)
    memory = attention.remember(source, readable)
    copied = attention.remember(source.repeat_interleave(N, 0), readable.repeat_interleave(N, 0))
    for weights in (True, False):
        shared = attention(queries, memory.shared(N), weights=weights)
        apart = attention(queries, copied, weights=weights)
        torch.testing.assert_close(shared.context, apart.context, **CLOSE)
        if weights:
            torch.testing.assert_close(shared.weights, apart.weights, **CLOSE)


@every
def test_padding_changes_nothing_and_nan_there_never_leaks(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    short = read(attention, queries[:1], source[:1, :5], readable[:1, :5])
    for filling in (0.0, 1e3, float("nan")):
        padded = source[:1].clone()
        padded[:, 5:] = filling
        padded.requires_grad_()
        long = read(attention, queries[:1], padded, readable[:1])
        torch.testing.assert_close(long.context, short.context, **CLOSE)
        torch.testing.assert_close(long.weights[..., :5], short.weights, **CLOSE)
        assert not long.weights[..., 5:].any()
        long.context.sum().backward()
        assert padded.grad is not None and padded.grad.isfinite().all() and not padded.grad[:, 5:].any()


@every
def test_a_reading_does_not_depend_on_its_batch(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    together = read(attention, queries, source, readable)
    for b in range(B):
        alone = read(attention, queries[b : b + 1], source[b : b + 1], readable[b : b + 1])
        torch.testing.assert_close(alone.context, together.context[b : b + 1], **CLOSE)


@every
def test_the_future_cannot_change_the_past(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, _ = numbers
    attention = build(name)
    before = read(attention, queries, source)
    later_queries = queries.clone()
    later_queries[:, 3:] += 1.0
    after = read(attention, later_queries, source)
    torch.testing.assert_close(after.context[:, :3], before.context[:, :3], rtol=0, atol=0)


@causal
def test_later_slots_cannot_change_the_past(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, _ = numbers
    attention = build(name)
    before = read(attention, queries, source)
    later_source = source.clone()
    later_source[:, 3:] += 1.0
    after = read(attention, queries, later_source)
    torch.testing.assert_close(after.context[:, :3], before.context[:, :3], **CLOSE)
    assert not before.weights.triu(1).any()


@every
def test_weights_are_not_negative(name: str, numbers: tuple[Tensor, ...]) -> None:
    weights = read(build(name), *numbers).weights
    assert (weights >= 0).all() and weights.any()


@that_keep("sums to one")
def test_weights_sum_to_one_where_promised(name: str, numbers: tuple[Tensor, ...]) -> None:
    total = read(build(name), *numbers).weights.sum(-1)
    total = total[total > 0]  # a window may hold nothing
    torch.testing.assert_close(total, torch.ones_like(total), **CLOSE)


@that_keep("sums to at most one")
def test_weights_sum_to_at_most_one_where_promised(name: str, numbers: tuple[Tensor, ...]) -> None:
    assert (read(build(name), *numbers).weights.sum(-1) <= 1 + 1e-9).all()


@every
def test_nothing_readable_reads_zero_with_finite_gradients(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    readable = readable.clone()
    readable[1] = False
    for weights in (True, False):
        for parameter in attention.parameters():
            parameter.grad = None
        queries, source = (x.detach().clone().requires_grad_() for x in (queries, source))
        reading = attention(queries, attention.remember(source, readable), weights=weights)
        assert not reading.context[1].any()
        assert reading.context[0].any()
        reading.context.square().sum().backward()
        for leaf in (queries, source, *attention.parameters()):
            assert leaf.grad is None or leaf.grad.isfinite().all()


@every
def test_an_empty_source_and_no_queries_are_legal(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    empty = attention(queries, attention.remember(source[:, :0], readable[:, :0]), weights=True)
    assert not empty.context.any() and empty.context.shape[:2] == (B, T)
    assert empty.weights.shape == (B, attention.heads, T, 0)
    assert attention(queries[:, :0], attention.remember(source)).context.shape[:2] == (B, 0)


@every
def test_a_batch_of_no_sentences_is_legal(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    width = attention(queries, attention.remember(source)).context.shape[2:]
    source = source[:0].requires_grad_()
    for readers in (1, N):
        for weights in (True, False):
            memory = attention.remember(source, readable[:0]).shared(readers)
            reading = attention(queries[:0], memory, weights=weights)
            assert reading.context.shape == (0, T, *width)
            assert not weights or reading.weights.shape == (0, attention.heads, T, S)
            reading.context.sum().backward()


@every
def test_a_read_leaves_memory_unchanged(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    memory = attention.remember(source, readable)
    kept = [x.clone() for x in memory if isinstance(x, Tensor)]
    first = attention(queries, memory)
    second = attention(queries, memory)
    assert all(torch.equal(now, then) for now, then in zip([x for x in memory if isinstance(x, Tensor)], kept))
    assert torch.equal(first.context, second.context)


def inputs(queries: int, slots: int, masked: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    generator = torch.Generator().manual_seed(3)
    sides = (torch.randn(B, n, WIDTH, dtype=torch.float64, generator=generator) for n in (queries, slots))
    readable = torch.rand(B, slots, generator=generator) < 0.8 if masked else None
    return *(side.requires_grad_() for side in sides), readable


def plain_and_quick(attention: Attention, queries: Tensor, source: Tensor, readable: Tensor | None) -> list[Tensor]:
    memory = attention.remember(source, readable)
    return [attention(queries, memory, weights=weights).context for weights in (True, False)]


@every
@pytest.mark.parametrize("masked", [True, False])
def test_without_weights_the_context_is_the_same(name: str, masked: bool) -> None:
    plain, quick = plain_and_quick(build(name), *inputs(T, S, masked))
    torch.testing.assert_close(quick, plain, **CLOSE)


LONG = {"of a text with itself": (150, 150, True), "of a longer text": (150, 130, False), "of a book": (3, 160, True)}


@without_history
@pytest.mark.parametrize("lengths", LONG)
def test_long_reads_without_weights_are_the_same(name: str, lengths: str) -> None:
    """Fused == plain, and what is read part by part == the whole, on lengths that need several parts."""
    plain, quick = plain_and_quick(build(name), *inputs(*LONG[lengths]))
    torch.testing.assert_close(quick, plain, **CLOSE)


@pytest.mark.parametrize(
    "name", [name for name in keeping("gradcheck") if name in where(lambda a: not a.needs_history)]
)
@pytest.mark.parametrize("lengths", LONG)
def test_gradients_without_weights_are_the_same(name: str, lengths: str) -> None:
    attention = build(name)
    queries, source, readable = inputs(*LONG[lengths])
    both = plain_and_quick(attention, queries, source, readable)
    direction = torch.randn(both[0].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    leaves = [queries, source, *(p for p in attention.parameters() if p.requires_grad)]
    plain, quick = (torch.autograd.grad(x, leaves, direction, allow_unused=True, retain_graph=True) for x in both)
    for expected, found in zip(plain, quick):
        torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)


@that_keep("gradcheck")
def test_gradients_match_finite_differences(name: str) -> None:
    attention = build(name)
    generator = torch.Generator().manual_seed(4)
    queries = torch.randn(1, 2, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
    source = torch.randn(1, 3, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
    parameters = [p for p in attention.parameters() if p.numel() < 200 and p.requires_grad]

    def context(queries: Tensor, source: Tensor, *_: Tensor) -> Tensor:
        return attention(queries, attention.remember(source), weights=True).context

    assert torch.autograd.gradcheck(context, (queries, source, *parameters), fast_mode=True)


@every
def test_state_dict_round_trip(name: str, numbers: tuple[Tensor, ...]) -> None:
    attention = build(name)
    other = COMPOSITIONS[name]().double().eval()
    other.load_state_dict(attention.state_dict())
    assert torch.equal(read(other, *numbers).context, read(attention, *numbers).context)


def test_every_exemption_has_a_reason() -> None:
    for name in COMPOSITIONS:
        for law, reason in build(name).exempt.items():
            assert law in get_args(Law) and reason
