"""The pieces of one update, against hand computations."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from saccade.data.batching import Batch, Batches
from saccade.text import EOS
from saccade.train import loop
from saccade.train.recipe import Recipe, Training
from saccade.train.steps import RunningMean, batch_loss, learning_rate, make_optimiser, mean_of, uses_bf16
from saccade.train.update import update

SIZE = 7


class Fixed(nn.Module):
    """Gives the same logits whatever it reads."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return self.logits


def test_label_smoothing_by_hand() -> None:
    batch = Batch.of([[4], [5]], [[4, 6], [5]], [0, 1])  # target_out: 4 6 eos; 5 eos, and one pad that does not count
    torch.manual_seed(1)
    logits = torch.randn(2, 3, SIZE)
    model: Any = Fixed(logits)
    log_probs = (logits - logits.exp().sum(-1, keepdim=True).log()).double()
    smoothed = plain = 0.0
    for row, place, wanted in ((0, 0, 4), (0, 1, 6), (0, 2, EOS), (1, 0, 5), (1, 1, EOS)):
        own = log_probs[row, place]
        plain -= float(own[wanted])
        smoothed -= 0.9 * float(own[wanted]) + 0.1 * sum(float(own[v]) for v in range(SIZE)) / SIZE
    found = batch_loss(model, batch, 0.1)
    assert float(found[0]) == pytest.approx(smoothed, rel=1e-5) and float(found[1]) == pytest.approx(plain, rel=1e-5)
    same, unsmoothed = batch_loss(model, batch, 0.0)
    assert float(same) == float(unsmoothed) == pytest.approx(plain, rel=1e-5)


rates = st.builds(
    Training,
    lr=st.floats(1e-6, 10),
    schedule=st.sampled_from(["constant", "inverse-sqrt", "cosine"]),
    warmup=st.integers(0, 1000),
)


@settings(deadline=None, max_examples=200)
@given(how=rates, step=st.integers(0, 100_000), progress=st.floats(0, 1.5))
def test_a_rate_is_positive_and_at_most_lr(how: Training, step: int, progress: float) -> None:
    assert 0 < learning_rate(how, step, progress) <= how.lr


@settings(deadline=None, max_examples=100)
@given(how=rates, step=st.integers(0, 998))
def test_the_rate_rises_in_the_warm_up(how: Training, step: int) -> None:
    now, later = (learning_rate(how, at, 0.0) for at in (step, step + 1))
    if step + 1 < how.warmup:
        assert now < later == pytest.approx(how.lr * (step + 2) / how.warmup)
    elif how.schedule == "inverse-sqrt":
        assert later < now
    else:
        assert now == later == how.lr


def test_rates_by_hand() -> None:
    how = Training(lr=1.0, warmup=4, schedule="inverse-sqrt")
    assert [learning_rate(how, step, 0.0) for step in (0, 3, 15)] == [0.25, 1.0, 0.5]
    cosine = replace(how, schedule="cosine")
    assert learning_rate(cosine, 99, 0.5) == pytest.approx(0.505) and learning_rate(cosine, 99, 1.0) == 0.01
    assert learning_rate(replace(how, schedule="constant"), 99, 0.9) == 1.0


def test_optimisers_decay_matrices_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    model[1].bias.requires_grad_(False)
    adamw = make_optimiser(Training(lr=0.1, betas=(0.8, 0.9), weight_decay=0.3), model.parameters())
    matrices, vectors = adamw.param_groups
    assert isinstance(adamw, torch.optim.AdamW)
    assert [p.dim() for p in matrices["params"]] == [2] and matrices["weight_decay"] == 0.3
    assert [p.dim() for p in vectors["params"]] == [1, 1] and vectors["weight_decay"] == 0.0
    assert adamw.defaults["betas"] == (0.8, 0.9) and adamw.defaults["lr"] == 0.1
    adadelta = make_optimiser(Training(optimiser="adadelta", lr=1.0, weight_decay=0.3), model.parameters())
    assert isinstance(adadelta, torch.optim.Adadelta)
    assert [group["weight_decay"] for group in adadelta.param_groups] == [0.3, 0.0]
    assert (adadelta.defaults["rho"], adadelta.defaults["eps"]) == (0.95, 1e-6)


def test_a_running_mean_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    seen = torch.tensor(0)
    model.register_buffer("seen", seen)
    nn.init.constant_(model.weight, 1.0)
    mean = RunningMean(model, 0.5)
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
    found = mean_of(snapshots)
    assert found["a"].tolist() == [3.0, 3.0] and found["n"].dtype == torch.int64 and int(found["n"]) == 3


def test_bf16_where_asked_for() -> None:
    cpu = torch.device("cpu")
    assert [uses_bf16(precision, cpu) for precision in ("auto", "fp32", "bf16")] == [False, False, True]


def test_two_batches_an_update_are_one_of_twice_the_size(make_recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = make_recipe(**{"model.dropout": 0.0, "train.clip": 0.5})
    updated = []
    for number in (1, 2):
        run = loop.start(recipe, tmp_path / str(number))
        run = replace(run, optimiser=torch.optim.SGD(run.model.parameters(), lr=1.0))
        batch = next(iter(Batches(run.material.corpus, tokens=300)))
        loss, tokens = update(run, [batch] if number == 1 else list(batch.halves()))
        updated.append((nn.utils.parameters_to_vector(run.model.parameters()), loss / tokens))
    size = len(run.material.vocabularies.source)
    torch.testing.assert_close(updated[0][0], updated[1][0], atol=1e-6, rtol=1e-5)
    assert updated[0][1] == pytest.approx(updated[1][1]) and 1 < updated[0][1] < 2 * math.log(size)
