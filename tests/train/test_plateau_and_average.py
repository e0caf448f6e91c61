"""Validations lower the learning rate at a plateau, and their weights are averaged at the end."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_loop import set_losses
from test_resume import assert_same_run
from training_processes import metrics

from saccade import model_folder
from saccade.train import loop
from saccade.train.loop import validate
from saccade.train.recipe import Recipe
from saccade.train.translation import start, train

MakeRecipe = Callable[..., Recipe]
PLATEAU: dict[str, Any] = {  # Gehring 2017
    "train.optimiser": "sgd",
    "train.momentum": 0.99,
    "train.nesterov": True,
    "train.lr": 0.25,
    "train.schedule": "plateau",
    "train.decay": 0.1,
    "train.least_lr": 1e-3,
    "train.warmup": 0,
    "train.judge": "loss",
    "train.check_every": 1,
    "train.max_steps": 100,
}


def learning_rates(out: Path) -> list[float]:
    return [line["rate"] for line in metrics(out) if "rate" in line]


def test_plateau_lowers_the_learning_rate_until_the_run_ends(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_losses(monkeypatch, 5.0, 4.0, 4.5, 3.9, 3.9, 3.8, 3.8)
    outcome = train(make_recipe(**PLATEAU), tmp_path / "run")
    assert outcome.reason == "the learning rate fell below train.least_lr = 0.001" and outcome.step == 7
    assert learning_rates(tmp_path / "run") == pytest.approx([0.25, 0.25, 0.25, 0.025, 0.025, 0.0025, 0.0025])
    assert outcome.best is not None and outcome.best["step"] == 6


def test_decay_patience_delays_the_plateau(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_losses(monkeypatch, 5.0, 5.1, 5.2, 4.0, 4.1, 4.2, 4.3)
    recipe = make_recipe(**{**PLATEAU, "train.decay_patience": 2, "train.max_steps": 7})
    train(recipe, tmp_path / "run")
    assert learning_rates(tmp_path / "run") == pytest.approx([0.25, 0.25, 0.25, 0.025, 0.025, 0.025, 0.0025])


def test_plateau_is_resumed(make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for out, cuts in (("whole", [6]), ("cut", [1, 2, 4, 6])):
        set_losses(monkeypatch, 5.0, 5.5, 5.6, 5.0, 5.7, 5.8)
        for cut in cuts:
            recipe = make_recipe(**{**PLATEAU, "train.decay_patience": 2, "train.max_steps": cut})
            train(recipe, tmp_path / out, resume=cut != cuts[0])
    assert_same_run(tmp_path / "cut", tmp_path / "whole")
    assert learning_rates(tmp_path / "cut") == learning_rates(tmp_path / "whole")
    states = [model_folder.load_training(tmp_path / out)["progress"] for out in ("cut", "whole")]
    assert [states[0][key] for key in ("falls", "flat", "lowest")] == [2, 1, 5.0]
    assert all(states[0][key] == states[1][key] for key in ("falls", "flat", "lowest"))


@pytest.mark.parametrize("better", [True, False])
def test_average_of_the_last_validations_is_logged_once(
    better: bool, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_losses(monkeypatch, 5.0, 4.0, 3.0 if better else 6.0, 1.0)
    out = tmp_path / "run"
    recipe = make_recipe(**{"train.judge": "loss", "train.average": 2, "train.check_every": 2, "train.max_steps": 4})
    outcome = train(recipe, out)
    averaged = {
        "step": 4,
        "epoch": 1,
        "valid_loss": 3.0 if better else 6.0,
        "best": better,
        "averaged": 2,
    }
    assert metrics(out)[-1] == averaged
    assert outcome.best is not None and ("averaged" in outcome.best) is better
    assert train(recipe, out, resume=True).best == outcome.best  # nothing is judged again
    assert metrics(out)[-1] == averaged and metrics(out)[-2] != averaged


def test_run_that_failed_while_logging_the_average_logs_it_again(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = make_recipe(**{"train.judge": "loss", "train.average": 2, "train.check_every": 2, "train.max_steps": 4})
    train(recipe, tmp_path / "whole")

    def fail_after_logging(run: Any) -> None:
        run.log.note(step=run.state.step, epoch=1, valid_loss=0.0, best=True, averaged=2)
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(loop, "try_average", fail_after_logging)
        with pytest.raises(MemoryError):
            train(recipe, tmp_path / "cut")
    train(recipe, tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")


def test_snapshots_are_the_weights_that_were_judged(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(**{"train.average": 2, "train.judge": "loss"}), tmp_path / "run")
    assert run.average is not None
    for parameter in run.model.parameters():
        parameter.data.add_(1.0)  # the running mean stays behind
    validate(run)
    (snapshot,) = run.state.snapshots
    assert all(torch.equal(snapshot[name], value) for name, value in run.average.weights.items())
