"""The loss of two predictions: equal to what autograd makes of the definitions, and fused to plain."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.layers.paired_cross_entropy import PairWeights, PlainPairedCrossEntropy, paired_cross_entropy

PAD = 0
WEIGHTS = [PairWeights(1.0, 0.0, 3.0, 0.0), PairWeights(0.5, 0.5, 1.25, 1.25), PairWeights(0.3, 0.7, 0.2, 0.9)]


def draw(rows: int, vocabulary: int, **kind: torch.dtype | str) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    logits = (3 * torch.randn(2 * rows, vocabulary, **kind)).requires_grad_()  # type: ignore[arg-type]
    return logits, torch.randint(0, vocabulary, (rows,), device=logits.device)  # some of them PAD


def by_definition(logits: Tensor, wanted: Tensor, weights: PairWeights, smoothing: float) -> Tensor:
    first, second = logits.chunk(2)
    p, q = (torch.log_softmax(side, -1) for side in (first, second))
    counts = wanted != PAD
    terms = [
        F.cross_entropy(side, wanted, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
        for side in (first, second)
    ]
    terms += [
        (F.kl_div(b, a, reduction="none", log_target=True).sum(-1) * counts).sum() for a, b in ((p, q), (q, p))
    ]  # kl_div(b, a) is KL(a‖b)
    return torch.stack([weight * term for weight, term in zip(weights, terms)]).sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_loss_and_gradient_are_those_of_the_definition(weights: PairWeights, smoothing: float) -> None:
    logits, wanted = draw(40, 7, dtype=torch.float64)
    assert (wanted == PAD).any()
    expected = by_definition(logits, wanted, weights, smoothing)
    (gradient,) = torch.autograd.grad(0.25 * expected, logits)
    loss, plain = paired_cross_entropy(logits, wanted, weights, ignored=PAD, smoothing=smoothing)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(torch.autograd.grad(0.25 * loss, logits)[0], gradient)
    only_entropies = PairWeights(weights.first, weights.second, 0.0, 0.0)
    torch.testing.assert_close(plain.sum(), by_definition(logits, wanted, only_entropies, 0.0))
    assert not plain.requires_grad


def test_equal_predictions_do_not_diverge() -> None:
    logits, wanted = draw(5, 9)
    twice = logits[:5].repeat(2, 1)
    loss, plain = paired_cross_entropy(twice, wanted, PairWeights(0.5, 0.5, 7.0, 7.0), ignored=PAD)
    torch.testing.assert_close(loss, plain.sum())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("vocabulary", [7, 4096, 10_001])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_fused_equals_plain(dtype: torch.dtype, vocabulary: int, weights: PairWeights) -> None:
    from saccade.layers.paired_cross_entropy_triton import FusedPairedCrossEntropy

    logits, wanted = draw(300, vocabulary, dtype=dtype, device="cuda")
    wanted[::7] = PAD
    results = []
    for function in (PlainPairedCrossEntropy, FusedPairedCrossEntropy):
        loss, plain = function.apply(logits, wanted, weights, PAD, 0.1)
        results.append((loss, plain, torch.autograd.grad(loss / 100, logits)[0].float()))
    for expected, fused in zip(*results):
        torch.testing.assert_close(fused, expected, rtol=1e-4 if dtype == torch.float32 else 1e-2, atol=1e-5)
