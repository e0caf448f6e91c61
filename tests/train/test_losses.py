"""Losses against hand computations, and the measured speed of updates."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.data.batching import Batch
from saccade.models import MODELS, Seq2Seq
from saccade.text import BOS, EOS
from saccade.train.losses import Objective, batch_loss

SIZE = 7
Untrained = Callable[..., Seq2Seq[Any, Any]]


class FixedLogits(nn.Module):
    """Returns the same logits for every input, and records the inputs."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits
        self.inputs_read: list[Tensor] = []

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        self.inputs_read.append(target)
        return self.logits

    def features(self, *_: Tensor) -> None:
        return None


def two_pairs() -> tuple[Batch, Tensor]:
    batch = Batch.of([[4], [5]], [[4, 6], [5]], [0, 1])  # target_out: 4 6 eos; 5 eos, and one pad that does not count
    torch.manual_seed(1)
    return batch, torch.randn(2, 3, SIZE)


def test_label_smoothing_by_hand() -> None:
    batch, logits = two_pairs()
    model: Any = FixedLogits(logits)
    log_probs = (logits - logits.exp().sum(-1, keepdim=True).log()).double()
    smoothed = plain = 0.0
    for row, place, wanted in ((0, 0, 4), (0, 1, 6), (0, 2, EOS), (1, 0, 5), (1, 1, EOS)):
        distribution = log_probs[row, place]
        plain -= float(distribution[wanted])
        smoothed -= 0.9 * float(distribution[wanted]) + 0.1 * sum(float(distribution[v]) for v in range(SIZE)) / SIZE
    losses = batch_loss(model, batch, Objective(smoothing=0.1))
    assert float(losses[0]) == pytest.approx(smoothed, rel=1e-5) and float(losses[1]) == pytest.approx(plain, rel=1e-5)
    same, unsmoothed = batch_loss(model, batch, Objective())
    assert float(same) == float(unsmoothed) == pytest.approx(plain, rel=1e-5)


def test_own_words_are_read_after_the_place_that_predicted_them() -> None:
    batch, logits = two_pairs()
    model: Any = FixedLogits(logits)
    batch_loss(model, batch, Objective(own_share=1.0))
    first, second = model.inputs_read
    predicted = logits.argmax(-1)
    assert torch.equal(first, batch.target_in)  # the first pass reads the truth …
    assert second.tolist()[0] == [BOS, *predicted[0, :2].tolist()]  # … the second what the first has predicted
    assert second.tolist()[1] == [BOS, int(predicted[1, 0]), int(batch.target_in[1, 2])]  # padding stays


def test_own_words_are_drawn_at_random_and_the_same_with_one_seed() -> None:
    rows = [[4 + (i + j) % 3 for j in range(40)] for i in range(25)]
    batch = Batch.of(rows, rows, range(25))
    logits = torch.zeros(*batch.target_in.shape, SIZE)
    logits[..., 1] = 1.0  # which no target holds
    inputs_read = []
    for _ in range(2):
        model: Any = FixedLogits(logits)
        torch.manual_seed(3)
        batch_loss(model, batch, Objective(own_share=0.3))
        inputs_read.append(model.inputs_read[1])
    assert torch.equal(*inputs_read)
    assert float((inputs_read[0][:, 1:] == 1).float().mean()) == pytest.approx(0.3, abs=0.05)
    assert (inputs_read[0][:, 0] == BOS).all()


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_from_its_own_words(name: str, untrained: Untrained) -> None:
    model = untrained(name).train()
    batch = Batch.of([[5, 6], [7]], [[5, 6], [7]], [0, 1])
    torch.manual_seed(1)
    loss, _ = batch_loss(model, batch, Objective(own_share=0.9))
    torch.autograd.backward(loss)
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert gradients and all(gradient.isfinite().all() for gradient in gradients)
