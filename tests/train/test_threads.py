"""Measuring the speed of a run does not change it, and the number of threads that it chooses is saved."""

import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from saccade.train import resources
from saccade.train.log import Log
from saccade.train.recipe import Recipe, load_recipe
from saccade.train.resources import first_updates, seconds_per_update
from saccade.train.run import TrainingRun
from saccade.train.translation import start, train
from saccade.train.update import update

MakeRecipe = Callable[..., Recipe]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def faster_with(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(run: TrainingRun, updates: Any) -> float:
        return 0.1 if torch.get_num_threads() == threads else 0.2

    monkeypatch.setattr(resources, "seconds_per_update", seconds)


def losses(folder: Path) -> list[float]:
    entries = map(json.loads, (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return [line["loss"] for line in entries if "loss" in line]


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_measuring_does_not_change_the_run(optimiser: str, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    def updated(name: str, *, measured: bool) -> tuple[list[float], dict[str, torch.Tensor]]:
        run = start(make_recipe(**{"train.optimiser": optimiser, "train.lr": 1e-3}), tmp_path / name)
        totals = []
        for step in range(3):
            if measured:
                assert seconds_per_update(run, first_updates(run, 2)) > 0
                assert run.state.step == 0 and run.average is not None and run.average.state_dict()["count"] == step
            totals.append(update(run, first_updates(run, 1)[0])[0])
            assert run.average is not None
            run.average.update(run.model, torch.tensor(True))
        return totals, run.model.state_dict() | {f"mean {name}": value for name, value in run.average.weights.items()}

    (losses_, weights), (expected_losses, expected) = updated("measured", measured=True), updated("not", measured=False)
    assert losses_ == expected_losses
    torch.testing.assert_close(weights, expected, rtol=0, atol=0)


def test_few_updates_are_measured_if_they_are_slow(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(resources, "update", lambda run, batches: made.append(update(run, batches)))
    monkeypatch.setattr(resources, "_PATIENCE", math.inf)
    run = start(make_recipe(), tmp_path / "run")
    assert seconds_per_update(run, first_updates(run, 4)) > 0 and len(made) == 1 + 4
    monkeypatch.setattr(resources, "_PATIENCE", 0.0)
    made.clear()
    assert seconds_per_update(run, first_updates(run, 4)) > 0 and len(made) == 1 + 1  # one to warm up


def test_measured_batches_are_read_again(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    run = start(make_recipe(**{"train.accumulate": 2}), tmp_path / "run")
    first = first_updates(run, 40)  # over the end of an epoch
    assert run.learner.batches.state() == {"epoch": 1, "window": 0, "index": 0}
    second = first_updates(run, 40)
    assert [len(batches) for batches in first] == [2] * 40
    for batches, other_batches in zip(first, second, strict=True):
        assert all(torch.equal(batch.source, other.source) for batch, other in zip(batches, other_batches, strict=True))


@pytest.mark.parametrize("fastest", [1, 2])
def test_the_faster_thread_count_is_reported_saved_and_resumed(
    fastest: int, make_recipe: MakeRecipe, tmp_path: Path, two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.StringIO()
    used: list[int] = []
    faster_with(fastest, monkeypatch)
    recipe = make_recipe(**{"train.threads": "auto", "train.max_steps": 4})
    log = Log(tmp_path / "run", Console(file=output, width=200))
    train(recipe, tmp_path / "run", log=log, observe=lambda *_: used.append(torch.get_num_threads()))
    assert set(used) == {fastest}
    assert torch.get_num_threads() == 2  # as before the run
    assert load_recipe(tmp_path / "run" / "recipe.toml").train.threads == fastest
    assert f"threads: {fastest}, by the time of an update: " in output.getvalue()

    faster_with(3 - fastest, monkeypatch)  # a resumed run does not measure again
    used.clear()
    more = make_recipe(**{"train.threads": "auto", "train.max_steps": 8})
    train(more, tmp_path / "run", resume=True, observe=lambda *_: used.append(torch.get_num_threads()))
    assert set(used) == {fastest}
    assert load_recipe(tmp_path / "run" / "recipe.toml").train.threads == fastest


def test_a_small_gain_is_not_worth_all_threads(
    make_recipe: MakeRecipe, tmp_path: Path, two_threads: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "seconds_per_update", lambda *_: 1.0 if torch.get_num_threads() == 1 else 0.95)
    train(make_recipe(**{"train.threads": "auto", "train.max_steps": 1}), tmp_path / "run")
    assert load_recipe(tmp_path / "run" / "recipe.toml").train.threads == 1


@pytest.mark.slow
def test_an_automatic_thread_count_learns_as_a_given_one(
    make_recipe: MakeRecipe, tmp_path: Path, two_threads: None
) -> None:
    train(make_recipe(**{"train.threads": "auto"}), tmp_path / "auto")
    chosen = load_recipe(tmp_path / "auto" / "recipe.toml").train.threads
    assert chosen in (1, 2)
    train(make_recipe(**{"train.threads": chosen}), tmp_path / "given")
    assert losses(tmp_path / "auto") == losses(tmp_path / "given")
