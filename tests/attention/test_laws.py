"""The laws of attention, asked of every composition. A part that cannot keep one says so in its class."""

import shutil

import pytest
import torch
from compositions import COMPOSITIONS, WIDTH, build
from torch import Tensor

from saccade.attention import Attention, History, Memory, Reading

B, N, T, S = 2, 3, 5, 7
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
# What reads many queries at once; the compiler is tried on these.
MAIN = ["bahdanau2014", "luong2015-global-general", "luong2015-local-p-general", "vaswani2017", "vaswani2017-causal",
        "chorowski2015", "tu2016", "raffel2017", "t5", "su2021", "ainslie2023", "narrow near"]  # fmt: skip

every = pytest.mark.parametrize("name", COMPOSITIONS)


@pytest.fixture
def numbers() -> tuple[Tensor, Tensor, Tensor]:
    """queries (B, T, D), source (B, S, D), readable (B, S)"""
    generator = torch.Generator().manual_seed(2)
    queries = torch.randn(B, T, WIDTH, dtype=torch.float64, generator=generator)
    source = torch.randn(B, S, WIDTH, dtype=torch.float64, generator=generator)
    readable = torch.ones(B, S, dtype=torch.bool)
    readable[0, 5:] = False
    return queries, source, readable


def read(attention: Attention, queries: Tensor, source: Tensor, readable: Tensor | None = None) -> Reading:
    return attention(queries, attention.remember(source, readable), weights=True)


def keeps(attention: Attention, law: str) -> bool:
    return law not in attention.exempt


@every
def test_one_query_at_a_time_reads_what_many_read(name: str, numbers: tuple[Tensor, ...]) -> None:
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
def test_a_row_may_be_at_its_own_position(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    memory = attention.remember(source, readable)
    ragged = attention(queries[:, :2], memory, at=torch.tensor([3, 0]))
    alone = attention(queries[:1, :2], attention.remember(source[:1], readable[:1]), at=3)
    torch.testing.assert_close(ragged.context[:1], alone.context, **CLOSE)


@every
def test_a_memory_that_grows_reads_as_one_that_was_there(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, _ = numbers
    attention = build(name)
    whole, history = attention.remember(source[:, :1], at=0), None
    for t in range(T):
        if t:
            whole = whole.extend(attention.remember(source[:, t : t + 1], at=t))
        grown = attention(queries[:, t : t + 1], whole, at=t, history=history, weights=True)
        history = grown.history
    assert whole.length == T
    at_once, history = attention.remember(source[:, :T]), None
    torch.testing.assert_close(whole.keys, at_once.keys, **CLOSE)
    if not attention.needs_history:
        fixed = attention(queries[:, T - 1 : T], at_once, at=T - 1, weights=True)
        torch.testing.assert_close(grown.context, fixed.context, **CLOSE)
        torch.testing.assert_close(grown.weights, fixed.weights, **CLOSE)


@every
def test_cached_causal_self_attention_is_the_whole_of_it(name: str, numbers: tuple[Tensor, ...]) -> None:
    _, source, _ = numbers
    attention = build(name)
    if not attention.window.causal:
        return  # the future is read, so a cache cannot have it
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
        if long.context.requires_grad:
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
    if attention.window.causal:
        later_source = source.clone()
        later_source[:, 3:] += 1.0
        later = read(attention, queries, later_source)
        torch.testing.assert_close(later.context[:, :3], before.context[:, :3], **CLOSE)
        assert not before.weights.triu(1).any()


@every
def test_weights_sum_to_one_where_promised(name: str, numbers: tuple[Tensor, ...]) -> None:
    attention = build(name)
    weights = read(attention, *numbers).weights
    assert (weights >= 0).all()
    if keeps(attention, "sums to one"):
        some = weights.sum(-1) > 0  # a window may hold nothing
        torch.testing.assert_close(weights.sum(-1)[some], torch.ones_like(weights.sum(-1)[some]), **CLOSE)
    elif "nothing" in attention.exempt["sums to one"] or "Gaussian" in attention.exempt["sums to one"]:
        assert (weights.sum(-1) <= 1 + 1e-9).all()


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
        if reading.context.requires_grad:
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
def test_a_read_leaves_memory_unchanged(name: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name)
    memory = attention.remember(source, readable)
    kept = [x.clone() for x in memory if isinstance(x, Tensor)]
    first = attention(queries, memory)
    second = attention(queries, memory)
    assert all(torch.equal(now, then) for now, then in zip([x for x in memory if isinstance(x, Tensor)], kept))
    assert torch.equal(first.context, second.context)


@every
def test_without_weights_the_context_is_the_same(name: str, numbers: tuple[Tensor, ...]) -> None:
    """Fused == plain, and chunks of a band == the whole, on lengths that need several chunks."""
    attention = build(name)
    generator = torch.Generator().manual_seed(3)
    for t, s, mask in ((T, S, True), (T, S, False), (150, 150, True), (150, 130, False)):
        if t > T and attention.needs_history:
            continue
        queries = torch.randn(B, t, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
        source = torch.randn(B, s, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
        readable = torch.rand(B, s, generator=generator) < 0.8 if mask else None
        memory = attention.remember(source, readable)
        plain = attention(queries, memory, weights=True).context
        quick = attention(queries, memory).context
        torch.testing.assert_close(quick, plain, **CLOSE)
        if keeps(attention, "gradcheck") and plain.requires_grad:
            direction = torch.randn(plain.shape, dtype=torch.float64, generator=generator)
            leaves = [queries, source]
            grads = [
                torch.autograd.grad(x, leaves, direction, allow_unused=True, retain_graph=True) for x in (plain, quick)
            ]
            for one, other in zip(*grads):
                torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


@every
def test_gradients_are_those_of_the_numbers(name: str, numbers: tuple[Tensor, ...]) -> None:
    attention = build(name)
    if not keeps(attention, "gradcheck"):
        return
    generator = torch.Generator().manual_seed(4)
    queries = torch.randn(1, 2, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
    source = torch.randn(1, 3, WIDTH, dtype=torch.float64, generator=generator, requires_grad=True)
    parameters = [p for p in attention.parameters() if p.numel() < 200 and p.requires_grad]

    def context(queries: Tensor, source: Tensor, *_: Tensor) -> Tensor:
        return attention(queries, attention.remember(source), weights=True).context

    assert torch.autograd.gradcheck(context, (queries, source, *parameters), fast_mode=True)


QUICKLY_COMPILED = ("bahdanau2014", "vaswani2017")  # the others compile in the slow run


@pytest.mark.parametrize(
    "name", [name if name in QUICKLY_COMPILED else pytest.param(name, marks=pytest.mark.slow) for name in MAIN]
)
def test_compiles_as_one_graph(name: str, numbers: tuple[Tensor, ...]) -> None:
    attention = build(name)
    if not keeps(attention, "compile"):
        return
    torch._dynamo.reset()

    def step(queries: Tensor, source: Tensor, readable: Tensor) -> Tensor:
        return attention(queries, attention.remember(source, readable)).context

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*numbers), step(*numbers), **CLOSE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own, when it loads its compiler
@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017-causal", "luong2015-local-p-general"])
def test_compiles_with_inductor(name: str, numbers: tuple[Tensor, ...]) -> None:
    attention = build(name)
    torch._dynamo.reset()

    def step(queries: Tensor, source: Tensor, readable: Tensor) -> Tensor:
        return attention(queries, attention.remember(source, readable)).context

    backend = "inductor" if shutil.which("g++") else "aot_eager"
    compiled = torch.compile(step, fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(*numbers), step(*numbers), rtol=1e-6, atol=1e-7)


@every
@pytest.mark.parametrize("how", ["bfloat16", "autocast"])
def test_low_precision_stays_near(name: str, how: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = (x.float() if x.is_floating_point() else x for x in numbers)
    attention = build(name, torch.float32)
    exact = attention(queries, attention.remember(source, readable), weights=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=how == "autocast"):
        if how == "bfloat16":
            attention, queries, source = attention.bfloat16(), queries.bfloat16(), source.bfloat16()
        memory = attention.remember(source, readable)
        for weights in (True, False):
            reading = attention(queries, memory, weights=weights)
            assert reading.context.isfinite().all()
            if keeps(attention, "gradcheck") and name != "monotonic dot":  # a hard choice may flip
                gap = (reading.context.float() - exact.context).norm() / exact.context.norm()
                assert gap < 0.15, gap  # bfloat16 has 8 bits, and a history carries its rounding on


@every
def test_state_dict_round_trip(name: str, numbers: tuple[Tensor, ...]) -> None:
    attention = build(name)
    other = COMPOSITIONS[name]().double().eval()
    other.load_state_dict(attention.state_dict())
    assert torch.equal(read(other, *numbers).context, read(attention, *numbers).context)


def test_every_exemption_gives_its_reason() -> None:
    laws = {"sums to one", "gradcheck", "compile"}
    for name in COMPOSITIONS:
        for law, reason in build(name).exempt.items():
            assert law in laws and reason
