"""Cross-entropy from one pass: equal to torch's two, and fused to plain."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.layers.cross_entropy import PlainCrossEntropy, cross_entropy

PAD = 0


def draw(rows: int, vocabulary: int, **kind: torch.dtype | str) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    logits = (3 * torch.randn(rows, vocabulary, **kind)).requires_grad_()  # type: ignore[arg-type]
    return logits, torch.randint(0, vocabulary, (rows,), device=logits.device)  # some of them PAD


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_both_losses_and_the_gradient_are_those_of_torch(smoothing: float) -> None:
    logits, wanted = draw(40, 7, dtype=torch.float64)
    assert (wanted == PAD).any()
    expected = F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
    (gradient,) = torch.autograd.grad(0.25 * expected, logits)
    loss, plain = cross_entropy(logits, wanted, ignored=PAD, smoothing=smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(plain, F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="none"))
    torch.testing.assert_close(torch.autograd.grad(0.25 * loss, logits)[0], gradient)
    assert not plain.requires_grad


def test_half_precision_is_summed_in_float32() -> None:
    logits, wanted = draw(2000, 5, dtype=torch.bfloat16)
    loss, plain = cross_entropy(logits, wanted, ignored=PAD, smoothing=0.1)
    assert loss.dtype == plain.dtype == torch.float32
    exact, _ = cross_entropy(logits.double(), wanted, ignored=PAD, smoothing=0.1)
    torch.testing.assert_close(loss.double(), exact, rtol=1e-6, atol=0)
    assert torch.autograd.grad(loss, logits)[0].dtype == torch.bfloat16


def test_no_rows_and_only_padding_have_no_loss() -> None:
    for wanted in (torch.zeros(0, dtype=torch.long), torch.full((3,), PAD)):
        logits = torch.randn(len(wanted), 4, requires_grad=True)
        loss, plain = cross_entropy(logits, wanted, ignored=PAD, smoothing=0.1)
        assert loss == 0 and not plain.any() and not torch.autograd.grad(loss, logits)[0].any()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("vocabulary", [7, 4096, 10_001])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_fused_equals_plain(dtype: torch.dtype, vocabulary: int, smoothing: float) -> None:
    from saccade.layers.cross_entropy_triton import FusedCrossEntropy

    logits, wanted = draw(300, vocabulary, dtype=dtype, device="cuda")
    wanted[::7] = PAD
    results = []
    for function in (PlainCrossEntropy, FusedCrossEntropy):
        loss, plain = function.apply(logits, wanted, PAD, smoothing)
        results.append((loss, plain, torch.autograd.grad(loss / 100, logits)[0].float()))
    for fused, expected in zip(*results, strict=True):
        torch.testing.assert_close(fused, expected, rtol=1e-2 if dtype == torch.bfloat16 else 1e-4, atol=1e-6)
