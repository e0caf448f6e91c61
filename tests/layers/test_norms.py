"""The layer norm that writes half precision: torch's norm, converted, for values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.layers.norms import NarrowLayerNorm, why_not_fused


def test_without_autocast_it_is_the_norm_of_torch() -> None:
    norm, inputs = NarrowLayerNorm(6), torch.randn(2, 3, 6)
    assert torch.equal(norm(inputs), nn.LayerNorm(6)(inputs)) and norm(inputs.double().float()).dtype == torch.float32
    assert why_not_fused(inputs) == "the device is cpu"


def test_under_autocast_it_is_converted_once() -> None:
    norm, inputs = NarrowLayerNorm(6), torch.randn(2, 3, 6)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(norm(inputs), nn.LayerNorm(6)(inputs).bfloat16())
        inputs.requires_grad_()
        gradients = torch.autograd.grad(norm(inputs).float().square().sum(), [inputs, *norm.parameters()])
    assert all(gradient.dtype == torch.float32 for gradient in gradients)


def outcome(norm: nn.Module, inputs: Tensor, upstream: Tensor) -> list[Tensor]:
    with torch.autocast("cuda", torch.bfloat16):
        outputs = norm(inputs)
        assert outputs.dtype == torch.bfloat16
    return [outputs.float(), *torch.autograd.grad(outputs, [inputs, *norm.parameters()], upstream.bfloat16())]


@pytest.mark.gpu
@pytest.mark.parametrize("width", [16, 128, 500, 1024])
@pytest.mark.parametrize("rows", [1, 700, 5000])
def test_fused_equals_plain(width: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    norm = NarrowLayerNorm(width).cuda()
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    inputs = (3 * torch.randn(rows, width, device="cuda") + 1).requires_grad_()
    upstream = torch.randn_like(inputs)
    fused = outcome(norm, inputs, upstream)
    monkeypatch.setattr("saccade.layers.norms.why_not_fused", lambda x: "the test")
    plain = outcome(norm, inputs, upstream)
    for ours, expected in zip(fused, plain, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-2, atol=2e-2)
    exact = F.layer_norm(inputs.double(), (width,), norm.weight.double(), norm.bias.double())
    assert (fused[0] - exact).norm() / exact.norm() < 4e-3
