"""Attention over few slots: one product for all projections, and one kernel, equal to the plain path."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.attention import ALiBi, Attention, Causal, Dot, Memory, Rotary, ScaledDot, short
from saccade.attention.short import attend_itself, project_together, why_not_short
from saccade.attention.trace import traced

# In the first backward pass of a process, torch warns that it has to create a context for its thread.
pytestmark = pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")
WIDTH, HEADS = 64, 4


def make(**parts: Any) -> Attention:
    torch.manual_seed(1)
    settings: dict[str, Any] = {"score": ScaledDot(), "heads": HEADS} | parts
    return Attention(query_dim=WIDTH, memory_dim=WIDTH, **settings)


@pytest.mark.parametrize("bias", [True, False])
def test_one_product_gives_all_projections_and_gradients(bias: bool) -> None:
    torch.manual_seed(1)
    x, layers = torch.randn(2, 3, 4, requires_grad=True), [nn.Linear(4, size, bias=bias) for size in (2, 5, 2)]
    learnt = [x, *(parameter for layer in layers for parameter in layer.parameters())]
    together, apart = project_together(x, layers), [layer(x) for layer in layers]
    upstream = [torch.randn_like(side) for side in apart]
    for ours, expected in zip(together, apart, strict=True):
        torch.testing.assert_close(ours, expected)
    found, expected = (torch.autograd.grad(sides, learnt, upstream) for sides in (list(together), apart))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("base", ["one tensor", "another order", "one tensor with a gap"])
def test_gradients_are_taken_from_where_they_lie(base: str) -> None:
    x, layers = torch.randn(2, 3, 4), [nn.Linear(4, 4) for _ in range(2)]
    sides = list(project_together(x, layers))
    size = 12 if base == "one tensor with a gap" else 8
    parts = torch.randn(2, 3, size).split(4, -1)
    upstream = [parts[1], parts[0]] if base == "another order" else [parts[0], parts[-1]]
    found = torch.autograd.grad(sides, [layer.weight for layer in layers], upstream)
    expected = [gradient.flatten(0, 1).T @ x.flatten(0, 1) for gradient in upstream]
    torch.testing.assert_close(list(found), expected)


def test_on_a_cpu_it_is_the_attention_itself() -> None:
    attention, x = make(window=Causal()), torch.randn(2, 5, WIDTH)
    readable = torch.tensor([[True] * 5, [True, True, False, False, False]])
    expected = attention(x, attention.remember(x, readable)).context
    assert torch.equal(attend_itself(attention, x, readable), expected)
    assert why_not_short(attention, x) == "the device is cpu"
    with traced(attention) as trace:
        attend_itself(attention, x)
    assert len(trace) == 1


def outcomes(attention: Attention, x: Tensor, source: Tensor | None, readable: Tensor | None) -> list[Tensor]:
    """The context and all gradients; from a `source`, or from x itself"""
    x, learnt = x.clone().requires_grad_(), [*attention.parameters()]
    source = None if source is None else source.clone().requires_grad_()
    if source is None:
        context = attend_itself(attention, x, readable)
    else:
        context = attention(x, attention.remember(source, readable)).context
    upstream = torch.linspace(-1, 1, context.numel(), device=x.device).view_as(context)
    inputs = [x, *learnt] if source is None else [x, source, *learnt]
    return [context.float(), *torch.autograd.grad(context, inputs, upstream.to(context.dtype))]


@pytest.mark.gpu
@pytest.mark.parametrize(("queries", "slots"), [(1, 1), (20, 20), (64, 64), (128, 128), (7, 50), (100, 33)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_kernel_equals_plain(
    queries: int, slots: int, causal: bool, padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if causal and queries != slots:
        pytest.skip("a causal attention reads itself")
    if causal and padded and slots >= 128:
        pytest.skip("FlexAttention would read it, whose compiler takes long")
    attention = make(window=Causal() if causal else None).cuda()
    x, source = (torch.randn(5, length, WIDTH, device="cuda") for length in (queries, slots))
    lengths = torch.tensor([slots, 1, max(1, slots // 2), slots, 0], device="cuda")
    readable = torch.arange(slots, device="cuda") < lengths[:, None] if padded else None
    of_source = None if queries == slots else source
    ran = count_reads(monkeypatch)
    with torch.autocast("cuda", torch.bfloat16):
        fused = outcomes(attention, x, of_source, readable)
    assert len(ran) == 1
    plain = outcomes(attention, x, of_source, readable)  # in float32
    assert len(ran) == 1
    for ours, expected in zip(fused, plain, strict=True):
        assert (ours - expected).norm() <= 2e-2 * expected.norm() + 1e-3


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    read, memories = short.read_short, list[Memory]()

    def counted(attention: Attention, by_head: Tensor, memory: Memory) -> Tensor:
        memories.append(memory)
        return read(attention, by_head, memory)

    monkeypatch.setattr(short, "read_short", counted)
    return memories


@pytest.mark.gpu
def test_queries_that_are_not_projected_are_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    attention = make(score=Dot(), project="kv").cuda()
    x, source = torch.randn(2, 3, WIDTH, device="cuda"), torch.randn(2, 9, WIDTH, device="cuda")
    ran = count_reads(monkeypatch)
    with torch.autocast("cuda", torch.bfloat16):
        fused = outcomes(attention, x, source, None)
    assert len(ran) == 1
    for ours, expected in zip(fused, outcomes(attention, x, source, None), strict=True):
        assert (ours - expected).norm() <= 4e-2 * expected.norm() + 1e-3


@pytest.mark.gpu
def test_what_may_not_be_read_never_leaks() -> None:
    attention, x = make().cuda(), torch.randn(2, 9, WIDTH, device="cuda")
    readable = torch.arange(9, device="cuda") < torch.tensor([[9], [4]], device="cuda")
    spoilt = torch.where(readable[..., None], x, torch.nan)
    with torch.autocast("cuda", torch.bfloat16):
        expected = attend_itself(attention, x, readable)
        contexts = attend_itself(attention, spoilt, readable)
    assert torch.equal(contexts[readable], expected[readable])


@pytest.mark.gpu
def test_reasons_name_what_has_no_kernel() -> None:
    x = torch.zeros(1, 1, WIDTH, device="cuda")
    assert why_not_short(make(), x) == "it is for training in half precision"
    with torch.autocast("cuda", torch.bfloat16):
        assert why_not_short(make(), x) is None and why_not_short(make(score=Dot(), project="qkv"), x) is None
        assert why_not_short(make(bias=ALiBi(HEADS)), x) == "it depends on distances"
        assert why_not_short(make(positions=Rotary(WIDTH // HEADS)), x) == "it rotates queries and keys"
        assert why_not_short(make(dropout=0.1), x) == "it drops weights"
        assert why_not_short(make(memory_heads=2), x) == "there is no kernel for these heads"
        with torch.no_grad():
            assert why_not_short(make(), x) == "it is for training in half precision"
