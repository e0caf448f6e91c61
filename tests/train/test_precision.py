"""Training in 16 bits: scaled losses, skipped updates, and exact resume."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn
from training_processes import metrics

from saccade import model_folder
from saccade.errors import UserError
from saccade.train.optimisation import Precision
from saccade.train.recipe import Recipe
from saccade.train.translation import train

CPU = torch.device("cpu")
MakeRecipe = Callable[..., Recipe]


def test_precision_chooses_the_dtype() -> None:
    dtypes = {name: Precision(name, CPU).dtype for name in ("auto", "fp32", "bf16", "fp16")}
    assert dtypes == {"auto": torch.float32, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    for name, dtype in dtypes.items():
        with Precision(name, CPU).autocast():
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_fp16_is_refused_on_other_devices() -> None:
    with pytest.raises(UserError, match="'fp16' trains on CUDA and CPU, not on mps"):
        Precision("fp16", torch.device("mps"))


@pytest.mark.parametrize("name", ["fp32", "fp16"])
def test_update_by_hand(name: str) -> None:
    precision, model = Precision(name, CPU), nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 2.0)
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    precision.backward((3.0 * model.weight).sum())
    assert precision.step(optimiser, model.parameters(), 0.5, torch.tensor(1.0))
    assert float(model.weight.detach()) == pytest.approx(1.5, rel=1e-4)  # the gradient of 3, clipped
    optimiser.zero_grad()
    precision.backward((3.0 * model.weight).sum())
    assert not precision.step(optimiser, model.parameters(), None, torch.tensor(math.nan))
    assert float(model.weight.detach()) == pytest.approx(1.5, rel=1e-4)


def test_overflow_halves_the_scale_until_it_is_too_small() -> None:
    precision, model = Precision("fp16", CPU), nn.Linear(1, 1, bias=False)
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model.weight.detach().clone()
    went_well = []
    for _ in range(18):
        optimiser.zero_grad()
        precision.backward((math.inf * model.weight).sum())
        went_well.append(bool(precision.step(optimiser, model.parameters(), 1.0, torch.tensor(1.0))))
    assert torch.equal(model.weight, before)
    assert went_well == [True] * 16 + [False] * 2 and precision.state_dict()["scale"] == 2.0**-2


def test_fp16_learns_and_is_resumed_to_the_bit(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    training = {"train.precision": "fp16", "train.schedule": "constant", "train.judge": "loss", "train.check_every": 10}
    for name, budgets in (("whole", [4]), ("cut", [2, 4])):
        for budget in budgets:
            recipe = make_recipe("vaswani2017", **training, **{"train.max_steps": budget})
            train(recipe, tmp_path / name, resume=budget != budgets[0])
    states = [model_folder.load_training(tmp_path / name) for name in ("whole", "cut")]
    assert states[0]["precision"] == states[1]["precision"] and states[0]["precision"]["_growth_tracker"] == 4
    for name, tensor in states[0]["model"].items():
        assert torch.equal(states[1]["model"][name], tensor), name
    losses = [[line["loss"] for line in metrics(tmp_path / name) if "loss" in line] for name in ("whole", "cut")]
    assert losses[0] == losses[1] and losses[0][-1] < losses[0][0]
