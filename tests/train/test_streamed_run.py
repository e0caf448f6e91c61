"""A run on streamed, mixed and sampled pairs resumes anywhere as if it had never stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from training_processes import metrics

from saccade.model_folder import load_training
from saccade.train.recipe import Recipe, load_recipe
from saccade.train.resume import recipe_to_resume
from saccade.train.translation import train

MakeRecipe = Callable[..., Recipe]


def settings(pairs: Path, **more: Any) -> dict[str, Any]:
    corpora = [
        {"pairs": str(pairs), "tag": "<fr>", "weight": 1.5},
        {"pairs": str(pairs), "reverse": True, "tag": "<en>"},
    ]
    options = {"data.pairs": "", "data.corpora": corpora, "data.sampling": 0.2, "data.buffer": 60}
    return {**options, "data.placeholders": ["number"], "train.schedule": "constant", "train.judge": "loss", **more}


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 7])
def test_streamed_run_resumes_in_any_window(
    cut: int, make_recipe: MakeRecipe, pairs_file: Path, tmp_path: Path
) -> None:
    whole = make_recipe(**settings(pairs_file, **{"train.max_steps": 10}))
    train(whole, tmp_path / "whole")
    assert load_recipe(tmp_path / "whole" / "recipe.toml").data == whole.data
    train(make_recipe(**settings(pairs_file, **{"train.max_steps": cut})), tmp_path / "cut")
    train(whole, tmp_path / "cut", resume=True)
    losses = {line["step"]: line["loss"] for line in metrics(tmp_path / "whole") if "loss" in line}
    resumed_losses = {line["step"]: line["loss"] for line in metrics(tmp_path / "cut") if "loss" in line}
    assert resumed_losses == losses and len(losses) == 10
    card = (tmp_path / "cut" / "README.md").read_text(encoding="utf-8")
    assert "tagged <fr>, 1.5 times: kept" in card and "windows of 60 pairs per epoch" in card


def test_number_of_processes_changes_nothing(make_recipe: MakeRecipe, pairs_file: Path, tmp_path: Path) -> None:
    for processes in (0, 2):
        options = settings(pairs_file, **{"data.processes": processes, "train.max_steps": 6, "train.check_every": 6})
        train(make_recipe(**options), tmp_path / str(processes))
    assert metrics(tmp_path / "0") == metrics(tmp_path / "2")
    restored = [load_training(tmp_path / name)["batches"] for name in ("0", "2")]
    assert restored[0] == restored[1]  # where the run was, not how far others had drawn
    resumed = recipe_to_resume(tmp_path / "2", {"data": {"processes": 0}}, "--set")
    assert resumed.data.processes == 0  # which a resumed run may change, since it changes nothing else


@pytest.mark.slow
def test_epoch_of_several_streams_ends_the_run(make_recipe: MakeRecipe, pairs_file: Path, tmp_path: Path) -> None:
    recipe = make_recipe(
        **settings(pairs_file, **{"train.max_steps": None, "train.max_epochs": 1, "data.sampling": 0.0})
    )
    outcome = train(recipe, tmp_path / "run")
    assert outcome.reason == "the budget is spent" and metrics(tmp_path / "run")[-1]["epoch"] in (1, 2)
