"""The layer norm that writes half precision: torch's norm, converted, for values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from dropout_masks import dropout_mask
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


@pytest.mark.gpu
@pytest.mark.parametrize("width", [16, 500, 512, 4096])
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_fused_sum_equals_plain_with_the_same_mask(width: int, share: float, dtype: torch.dtype) -> None:
    from saccade.layers.dropout_triton import draw_seed
    from saccade.layers.norms_triton import fused_sum_and_norm

    torch.manual_seed(1)
    x, of_sum, of_norm = (torch.randn(3, 701, width, device="cuda") for _ in range(3))
    f = torch.randn(3, 701, width, device="cuda", dtype=dtype).requires_grad_()
    norm, f_bias = nn.LayerNorm(width).cuda(), torch.randn(width, device="cuda").requires_grad_()
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    x.requires_grad_()
    seed = draw_seed(x.device) if share else None
    mask = 1.0 if seed is None else dropout_mask(seed, f.shape, share)
    total = x + (f + f_bias) * mask
    plain = total, norm(total)
    fused = fused_sum_and_norm(x, f, f_bias, seed, share, norm, dtype)
    assert fused[0].dtype == torch.float32 and fused[1].dtype == dtype
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 2e-2}
    torch.testing.assert_close(fused[0], plain[0], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(fused[1].float(), plain[1], **close)
    upstream = of_sum, of_norm.to(dtype)
    learnt = x, f, f_bias, *norm.parameters()
    found = torch.autograd.grad(fused, learnt, upstream)
    expected = torch.autograd.grad(plain, learnt, (of_sum, upstream[1].float()))
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).norm() / theirs.norm() < (1e-5 if dtype == torch.float32 else 4e-3)


@pytest.mark.gpu
def test_only_the_norm_of_a_sum_is_used() -> None:
    from saccade.layers.norms_triton import fused_sum_and_norm

    x, f = (torch.randn(5, 32, device="cuda").requires_grad_() for _ in range(2))
    total, normed = fused_sum_and_norm(x, f, None, None, 0.0, nn.LayerNorm(32).cuda(), torch.float32)
    expected = torch.autograd.grad(F.layer_norm(x + f, (32,)).square().sum(), x)[0]
    for part in torch.autograd.grad(normed.square().sum(), (x, f), retain_graph=True):
        torch.testing.assert_close(part, expected, rtol=1e-4, atol=1e-4)
    assert torch.equal(torch.autograd.grad(total.sum(), f)[0], torch.ones_like(f))
