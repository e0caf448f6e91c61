"""Means of weights, against hand computations."""

import pytest
import torch
from torch import nn

from saccade.train.optimisation import RunningAverage, mean_weights


def test_a_running_mean_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    seen = torch.tensor(0)
    model.register_buffer("seen", seen)
    nn.init.constant_(model.weight, 1.0)
    mean = RunningAverage(model, 0.5)
    expected = 1.0
    for count, value in enumerate((3.0, 5.0, -1.0, 2.0, 8.0, 4.0, 7.0, 1.0, 1.0, 1.0), 1):
        nn.init.constant_(model.weight, value)
        seen.fill_(count)
        mean.update(model)
        decay = min(0.5, (1 + count) / (10 + count))
        expected = decay * expected + (1 - decay) * value
        assert float(mean.weights["weight"]) == pytest.approx(expected)
    assert int(mean.weights["seen"]) == 10
    assert float(model.weight.detach()) == 1.0


def test_the_mean_of_weights() -> None:
    snapshots = [{"a": torch.full((2,), value), "n": torch.tensor(3)} for value in (1.0, 2.0, 6.0)]
    found = mean_weights(snapshots)
    assert found["a"].tolist() == [3.0, 3.0] and found["n"].dtype == torch.int64 and int(found["n"]) == 3


def test_what_did_not_change_is_its_own_mean_to_the_bit() -> None:
    torch.manual_seed(1)
    weights = torch.randn(1000)
    assert torch.equal(mean_weights([{"w": weights}] * 3)["w"], weights)
    assert not torch.equal(torch.stack([weights] * 3).mean(0), weights)  # as a plain mean is not
