"""A whole run: budgets, stopping, averages, and the files in its folder."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from training_processes import metrics

import saccade
from saccade import model_folder
from saccade.data import PairWindow
from saccade.data.batching import Batch, Batches
from saccade.errors import UserError
from saccade.models import MODELS, build_model
from saccade.train import loop
from saccade.train.dataset import load_dataset
from saccade.train.learner import Judge, TrainingState, Validation
from saccade.train.optimisation import mean_weights
from saccade.train.recipe import Recipe, load_recipe
from saccade.train.run import TrainingRun
from saccade.train.translation import TranslationLearner, train
from saccade.train.update import PendingUpdate

MakeRecipe = Callable[..., Recipe]


def set_losses(monkeypatch: pytest.MonkeyPatch, *losses: float) -> None:
    """Make the validations return these losses, whatever the model."""
    results = iter(losses)
    monkeypatch.setattr(TranslationLearner, "validate", lambda *_: Validation(scores={"loss": next(results)}))


def test_run_writes_its_folder_and_reports_its_outcome(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe, seen = make_recipe(), []

    def observe(state: TrainingState, translator: Any) -> None:
        seen.append((state.step, translator.translate(["the cook works."])[0].text))

    outcome = train(recipe, tmp_path / "run", observe=observe)
    assert (outcome.finished, outcome.step, outcome.reason) == (True, 8, "the budget is spent")
    assert [step for step, _ in seen] == [3, 6, 8]
    assert load_recipe(tmp_path / "run" / "recipe.toml") == recipe
    lines = metrics(tmp_path / "run")
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 9))
    validations = [line for line in lines if "valid_loss" in line]
    assert [line["step"] for line in validations] == [3, 6, 8] and validations[0]["best"] is True
    assert lines[-2]["loss"] < lines[0]["loss"] and all(0 < line["rate"] <= 1e-2 for line in lines if "rate" in line)
    assert outcome.best is not None and f"| step | {outcome.best['step']} |" in (tmp_path / "run/README.md").read_text()
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["extra"]["best"] == outcome.best
    saccade.load(tmp_path / "run", device="cpu").translate(["the cook works."])


@pytest.mark.parametrize("name", MODELS)
def test_equal_seeds_give_equal_first_weights(name: str) -> None:
    settings, models = replace(MODELS[name].PRESETS["tiny"], tie="none"), []
    for _ in range(8):  # all stay alive: each is elsewhere in memory
        torch.manual_seed(1)
        models.append(build_model(name, settings, 50, 50))
    for model in models[1:]:
        assert all(torch.equal(a, b) for a, b in zip(models[0].state_dict().values(), model.state_dict().values()))


def test_another_seed_gives_another_run(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(make_recipe(**{"train.seed": seed, "train.max_steps": 2, "train.judge": "loss"}), tmp_path / name)
    a, b, c = (metrics(tmp_path / name) for name in "abc")
    assert a == b != c


@pytest.mark.parametrize("accumulate", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_budget_of_epochs_ends_the_run(accumulate: int, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    budget = {"train.max_steps": None, "train.max_epochs": 1, "train.accumulate": accumulate, "train.judge": "loss"}
    recipe = make_recipe(**budget)
    outcome = train(recipe, tmp_path / "run")
    epoch = len(Batches(load_dataset(recipe.data, tmp_path / "run", 1).corpus, tokens=recipe.train.tokens))
    assert outcome.step == math.ceil(epoch / accumulate) > 2
    assert outcome.reason == "the budget is spent"


def test_epoch_has_every_pair_once(make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    submit = loop.submit_update

    def recording_update(run: TrainingRun, batches: list[Batch]) -> PendingUpdate:
        seen.extend(i for batch in batches for i in batch.indices.tolist())
        return submit(run, batches)

    ordered: list[int] = []
    members = Batches._members

    def recording_members(batches: Batches, window: PairWindow) -> list[list[int]]:
        ordered.append(batches.epoch)
        return members(batches, window)

    monkeypatch.setattr(Batches, "_members", recording_members)
    monkeypatch.setattr(loop, "submit_update", recording_update)
    budget = {"train.max_steps": None, "train.max_epochs": 2, "train.judge": "loss", "train.check_every": 100}
    train(make_recipe(**budget), tmp_path / "run")
    assert sorted(seen) == sorted([*range(114), *range(114)])
    assert ordered == [1, 2, 1]  # an epoch's order is drawn once, not at every step; the last is validation's


def test_budget_of_minutes_includes_the_time_before_a_resume(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(time, "monotonic", lambda: 10.0 * next(clock))  # each look at it is ten seconds later
    minutes = {"train.max_steps": None, "train.max_minutes": 1.0, "train.judge": "loss", "train.check_every": 100}
    whole = train(make_recipe(**minutes), tmp_path / "whole")
    assert whole.step == 6 and whole.seconds == 60.0  # of which a step takes ten
    first = train(make_recipe(**{**minutes, "train.max_steps": 2}), tmp_path / "cut")
    assert (first.step, first.seconds) == (2, 20.0)
    second = train(make_recipe(**minutes), tmp_path / "cut", resume=True)
    assert (second.step, second.seconds, second.reason) == (6, 60.0, "the budget is spent")


def test_run_without_updates_saves_an_untrained_model(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    outcome = train(make_recipe(**{"train.max_steps": 0}), tmp_path / "run")
    assert outcome.step == 0 and outcome.finished
    saccade.load(tmp_path / "run", device="cpu")


def test_run_without_improvement_ends(make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_losses(monkeypatch, 5.0, 4.0, 4.0, 4.5, 4.1)
    training = {"train.judge": "loss", "train.patience": 3, "train.max_steps": 100, "train.check_every": 1}
    outcome = train(make_recipe(**training), tmp_path / "run")
    assert (outcome.step, outcome.reason) == (5, "no better score in 3 validations")
    assert outcome.best is not None and (outcome.best["step"], outcome.best["loss"]) == (2, 4.0)


def test_judge_prefers_the_better_score_then_the_lower_loss() -> None:
    def scores(bleu: float, loss: float) -> dict[str, float]:
        return {"bleu": bleu, "loss": loss}

    judge, best = Judge("bleu", "BLEU"), scores(20.0, 3.0)
    assert judge.prefers(scores(20.1, 9.0), best) and judge.prefers(scores(20.0, 2.9), best)
    assert not judge.prefers(scores(19.9, 1.0), best) and not judge.prefers(scores(20.0, 3.0), best)
    assert judge.prefers(scores(0.0, 9.0), None)
    assert not any(judge.prefers(scores(30.0, loss), other) for loss in (math.nan, math.inf) for other in (None, best))
    loss = Judge("loss", "loss", higher_is_better=False)
    assert loss.prefers(scores(0.0, 2.9), best) and not loss.prefers(scores(99.0, 3.1), best)


@pytest.mark.parametrize("better", [True, False])
def test_average_of_the_last_validations_is_saved_if_it_is_better(
    better: bool, make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_losses(monkeypatch, 5.0, 4.0, 3.0, 2.9 if better else 3.1)
    training = {
        "train.judge": "loss",
        "train.average": 2,
        "train.check_every": 2,
        "train.max_steps": 6,
        "train.ema": None,
    }
    outcome = train(make_recipe(**training), tmp_path / "run")
    snapshots = model_folder.load_training(tmp_path / "run")["progress"]["snapshots"]
    assert len(snapshots) == 2 and outcome.best is not None
    assert outcome.best.get("averaged") == (2 if better else None) and outcome.best["loss"] == (2.9 if better else 3.0)
    saved, _ = model_folder.load_model(tmp_path / "run")
    expected = mean_weights(snapshots) if better else snapshots[-1]
    assert all(torch.equal(saved[name], tensor) for name, tensor in expected.items())


def test_running_average_is_judged_and_saved(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    train(make_recipe(**{"train.max_steps": 3, "train.judge": "loss"}), tmp_path / "run")
    saved, _ = model_folder.load_model(tmp_path / "run")
    state = model_folder.load_training(tmp_path / "run")
    assert all(torch.equal(saved[name], tensor) for name, tensor in state["mean"]["weights"].items())
    assert not all(torch.equal(saved[name], tensor) for name, tensor in state["model"].items())


def test_run_is_saved_between_distant_validations(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SAVE_SECONDS", 0.0)
    monkeypatch.setattr(loop, "validate", None)
    with pytest.raises(TypeError):  # at the end
        train(make_recipe(**{"train.max_steps": 4, "train.check_every": 100}), tmp_path / "run")
    assert model_folder.load_training(tmp_path / "run")["progress"]["step"] == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data.joint": False}, "model.tie is 'all'"),
        ({"train.device": "tpu"}, "device 'tpu'"),
        ({"data.pairs": "none.tsv"}, "none.tsv: no such file"),
        ({"data.valid": "none.tsv"}, "none.tsv: no such file"),
        ({"data.longest": 1}, "no pair is left"),
    ],
)
def test_failed_start_leaves_nothing(
    settings: dict[str, Any], message: str, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        train(make_recipe(**settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "pairs.tsv").write_text("kept\t")
    with pytest.raises(UserError, match=message):
        train(make_recipe(**settings), tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["pairs.tsv"]


def test_used_folder_is_refused(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="the folder is not empty; add --resume"):
        train(make_recipe(), tmp_path)
    with pytest.raises(UserError, match="no run to resume"):
        train(make_recipe(), tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
