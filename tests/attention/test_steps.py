"""A step of a decoder's loop reads what any query reads, and has its gradients."""

import gc

import pytest
import torch
from torch import Tensor

from saccade.attention import Attention, steps
from saccade.attention.table import build
from saccade.layers.late_gradients import late_gradients

STEPS = 3
SCORES = ["bahdanau2014", "luong2015-global-dot", "luong2015-global-general"]


def read(attention: Attention, source: Tensor, queries: Tensor, readable: Tensor | None) -> Tensor:
    """Each query depends on the reading before."""
    memory = attention.remember(source, readable)
    contexts = [queries.new_zeros(())]
    with late_gradients(queries.shape[1]):
        for t in range(queries.shape[1]):
            query = queries[:, t : t + 1] + contexts[-1].mean(-1, keepdim=True) if t else queries[:, :1]
            contexts.append(attention(query, memory, at=t).context)
    return torch.cat(contexts[1:], 1)


def outcome(attention: Attention, source: Tensor, queries: Tensor, readable: Tensor | None) -> tuple[Tensor, ...]:
    contexts = read(attention, source, queries, readable).float()
    direction = torch.linspace(-1, 1, contexts.numel(), device=contexts.device).view_as(contexts)
    inputs = [source, queries, *attention.parameters()]
    return contexts, *torch.autograd.grad(contexts, inputs, direction)


def draw(name: str, slots: int, width: int, device: str) -> tuple[Attention, Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    attention = build(name, query_dim=width, memory_dim=width, width=width).to(device)
    assert isinstance(attention, Attention)
    source = torch.randn(3, slots, width, device=device, requires_grad=True)
    queries = (torch.randn(3, STEPS, width, device=device) / width**0.5).requires_grad_()  # no score is large
    return attention, source, queries, torch.arange(slots, device=device) < torch.tensor([[slots], [2], [0]]).to(device)


def read_plainly(attention: Attention, source: Tensor, queries: Tensor, readable: Tensor | None) -> tuple[Tensor, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "why_not_stepped", lambda attention, keys: "the test")
        return outcome(attention, source, queries, readable)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("slots", "width"), [(1, 6), (30, 1000), (300, 64)])
def test_steps_equal_queries(name: str, masked: bool, slots: int, width: int) -> None:
    drawn = draw(name, slots, width, "cuda")
    assert steps.why_not_stepped(drawn[0], drawn[1]) is None
    inputs = *drawn[:3], drawn[3] if masked else None
    plain = read_plainly(*inputs)
    torch.testing.assert_close(outcome(*inputs), plain, rtol=1e-3, atol=1e-4)
    with torch.autocast("cuda", torch.bfloat16):
        mixed = outcome(*inputs)
    for ours, exact in zip(mixed, plain, strict=True):
        assert (ours - exact).norm() <= 0.03 * exact.norm() + 1e-3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the interpreter
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("masked", [False, True])
def test_interpreted_kernels_equal_queries(name: str, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With triton, and TRITON_INTERPRET=1 in the environment, the kernels run on a CPU."""
    triton = pytest.importorskip("triton")
    if not triton.knobs.runtime.interpret:
        pytest.skip("the kernels are compiled")
    monkeypatch.setattr(steps, "why_not_stepped", lambda attention, keys: None)
    drawn = draw(name, 37, 70, "cpu")
    inputs = *drawn[:3], drawn[3] if masked else None
    torch.testing.assert_close(outcome(*inputs), read_plainly(*inputs), rtol=1e-4, atol=2e-5)


@pytest.mark.gpu
def test_finished_steps_are_freed() -> None:
    drawn = draw("bahdanau2014", 5, 8, "cuda")

    def tensors_after_a_loop() -> int:
        read(*drawn).sum().backward()  # type: ignore[no-untyped-call]
        gc.collect()
        return sum(type(thing) is Tensor for thing in gc.get_objects())

    assert tensors_after_a_loop() == tensors_after_a_loop()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tu2016", "the score 'coverage' has no kernel for one step"),
        ("luong2015-local-p-general", "the score depends on positions"),
        ("bahdanau2014", "there is no kernel for it"),
    ],
)
def test_reasons(name: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attention = build(name, query_dim=4, memory_dim=4, width=4)
    assert isinstance(attention, Attention)
    keys = torch.zeros(1)
    assert steps.why_not_stepped(attention, keys) == "the device is cpu"
    monkeypatch.setattr(steps, "has_triton", lambda: False)
    on_cuda = type("Keys", (), {"is_cuda": True, "dtype": torch.float32})()
    assert steps.why_not_stepped(attention, on_cuda) == reason


@pytest.mark.gpu
def test_single_queries_have_their_gradients_in_half_precision() -> None:
    """Those of cuDNN are not finite."""
    *inputs, _ = draw("luong2015-global-dot", 300, 64, "cuda")
    exact = read_plainly(*inputs, None)
    with torch.autocast("cuda", torch.bfloat16):
        rounded = read_plainly(*inputs, None)
    for expected, found in zip(exact, rounded, strict=True):
        assert (found - expected).norm() < 0.02 * expected.norm()
