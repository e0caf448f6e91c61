"""The laws of low precision: numbers stay near those of float32, and finite where they can be."""

import pytest
import torch
from compositions import COMPOSITIONS, WIDTH, build, keeping
from torch import Tensor

from saccade.attention import Reading

every = pytest.mark.parametrize("name", COMPOSITIONS)
low = pytest.mark.parametrize("precision", ["bfloat16", "autocast"])
quick_or_not = pytest.mark.parametrize("weights", [True, False], ids=["plain", "without weights"])


def read_low(name: str, precision: str, numbers: tuple[Tensor, ...]) -> list[Reading]:
    """Plain, and without weights."""
    queries, source, readable = (x.float() if x.is_floating_point() else x for x in numbers)
    attention = build(name, torch.float32)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
        if precision == "bfloat16":
            attention, queries, source = attention.bfloat16(), queries.bfloat16(), source.bfloat16()
        memory = attention.remember(source, readable)
        return [attention(queries, memory, weights=weights) for weights in (True, False)]


@every
@low
def test_low_precision_stays_finite(name: str, precision: str, numbers: tuple[Tensor, ...]) -> None:
    for reading in read_low(name, precision, numbers):
        assert reading.context.isfinite().all()


@pytest.mark.parametrize("name", keeping("continuous"))
@low
def test_low_precision_stays_near(name: str, precision: str, numbers: tuple[Tensor, ...]) -> None:
    queries, source, readable = numbers
    attention = build(name, torch.float32).double()
    exact = attention(queries, attention.remember(source, readable)).context
    for reading in read_low(name, precision, numbers):
        gap = (reading.context.double() - exact).norm() / exact.norm()
        assert gap < 0.15, gap  # bfloat16 has 8 bits, and a history carries its rounding on


@every
@quick_or_not
def test_nothing_readable_in_float16_reads_zero_with_finite_gradients(
    name: str, weights: bool, numbers: tuple[Tensor, ...]
) -> None:
    queries, source, readable = numbers
    attention = build(name, torch.float16)
    queries, source = (x.half().requires_grad_() for x in (queries, source))
    readable = readable.clone()
    readable[1] = False
    context = attention(queries, attention.remember(source, readable), weights=weights).context
    assert context.isfinite().all() and not context[1].any() and context[0].any()
    context.float().square().sum().backward()
    for leaf in (queries, source, *attention.parameters()):
        assert leaf.grad is None or leaf.grad.isfinite().all()


@pytest.mark.parametrize("name", keeping("large in float16"))
@quick_or_not
def test_large_numbers_are_read_in_float16(name: str, weights: bool, numbers: tuple[Tensor, ...]) -> None:
    """Inputs and projections fit, but scores reach a million, and float16 ends at 65504."""
    queries, source, readable = numbers
    attention = build(name, torch.float16)
    reading = attention((300 * queries).half(), attention.remember((300 * source).half(), readable), weights=weights)
    assert reading.context.isfinite().all() and reading.context.any()
    assert not weights or reading.weights.isfinite().all()


@pytest.mark.parametrize("name", ["luong2015-global-dot", "graves2014", "peters2019", "luong2015-local-p-general"])
def test_large_numbers_are_read_under_autocast_to_float16(name: str) -> None:
    attention = build(name, torch.float32)
    queries, source = (300 * torch.randn(2, 5, WIDTH) for _ in range(2))
    with torch.autocast("cpu", torch.float16):
        reading = attention(queries, attention.remember(source), weights=True)
    assert reading.context.isfinite().all() and reading.weights.isfinite().all()


def test_a_far_place_is_found_in_float16() -> None:
    """Above 2048, float16 has no odd numbers."""
    attention = build("luong2015-local-p-dot", torch.float16)
    queries, source = torch.randn(1, 40, WIDTH).half(), torch.randn(1, 5000, WIDTH).half()
    memory = attention.remember(source)
    place = attention.window.centre(queries, memory)
    exact = attention.window.double().centre(queries.double(), memory)
    assert (place - exact).abs().max() < 5000 * 0.005  # half precision of what comes before the sigmoid
    assert (place.frac() != 0).any()
