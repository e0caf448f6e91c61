"""Killed at any moment and started again, a run is the run that was never killed: to the bit, on a CPU."""

import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from lives import Death, Ended, live, metrics

from saccade import files, model_folder
from saccade.train.recipe import Recipe
from saccade.train.translation import train

MakeRecipe = Callable[..., Recipe]
WriteRecipe = Callable[..., Path]


def go_on(recipe: Path, out: Path, death: Death | None = None, at: Callable[[], int | None] | None = None) -> Ended:
    resume = ("--resume",) if (out / "recipe.toml").exists() else ()
    return live("train", recipe, "--out", out, *resume, out=out, death=death, at=at)


def assert_same_run(out: Path, never_killed: Path) -> None:
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (out / name).read_bytes() == (never_killed / name).read_bytes(), name
    state, expected = model_folder.load_training(out), model_folder.load_training(never_killed)
    del state["progress"]["seconds"], expected["progress"]["seconds"]
    for name, tensor in expected.pop("model").items():
        assert torch.equal(state["model"][name], tensor), name
    assert state["batches"] == expected["batches"]
    for chance, same in zip(state["random"], expected["random"], strict=True):
        assert torch.equal(chance["cpu"], same["cpu"])
    assert state["progress"].keys() == expected["progress"].keys()
    assert state["progress"]["best"] == expected["progress"]["best"]


def assert_whole(out: Path) -> None:
    """What a kill leaves can be read: nothing, or a whole model."""
    try:
        files.recover(out)
        if (out / "config.json").exists():
            model_folder.load_model(out)
    except FileNotFoundError:
        assert not out.exists()


def kill_and_resume(recipe: Path, tmp_path: Path, deaths: Iterable[Death | float]) -> None:
    """A number instead of a death: killed from outside, so many seconds after the training has begun."""
    reference, out = tmp_path / "reference", tmp_path / "out"
    assert go_on(recipe, reference).code == 0
    for death in deaths:
        ended = go_on(recipe, out, death) if isinstance(death, Death) else go_on(recipe, out, at=_after(death, out))
        assert ended.code == -signal.SIGKILL, (death, ended.said)
        assert_whole(out)
    ended = go_on(recipe, out)
    assert ended.code == 0, ended.said
    assert_same_run(out, reference)


def _after(seconds: float, out: Path) -> Callable[[], int | None]:
    def version() -> int:
        path = out / "metrics.jsonl"
        return path.stat().st_mtime_ns if path.exists() else 0

    before, began = version(), 0.0

    def now() -> int | None:
        nonlocal began
        if not began and version() != before:
            began = time.monotonic()
        return signal.SIGKILL if began and time.monotonic() - began >= seconds else None

    return now


def moments(random: Random, count: int) -> list[Death | float]:
    """Of each five: three between two operations, one in the middle of a file, one from outside.

    A check is about 120 operations, and writes up to 3 files by `write_bytes`; a start is 30 or 60 operations.
    """
    drawn: list[Death | float] = []
    for i in range(count):
        if i % 5 == 3:
            drawn.append(Death(torn=random.randint(1, 4)))
        elif i % 5 == 4:
            drawn.append(random.uniform(0, 0.15))
        else:
            drawn.append(Death(operation=random.randint(1, 300)))
    return drawn


def test_a_run_by_steps_killed_a_few_times(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    kill_and_resume(write_recipe(**{"train.max_steps": 22, "train.average": 3}), tmp_path, moments(Random(1), 5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_run_by_steps_killed_twenty_times(seed: int, write_recipe: WriteRecipe, tmp_path: Path) -> None:
    kill_and_resume(write_recipe(**{"train.max_steps": 110, "train.average": 3}), tmp_path, moments(Random(seed), 20))


@pytest.mark.slow
def test_a_run_by_epochs_killed_ten_times(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**{"train.max_steps": None, "train.max_epochs": 18, "train.accumulate": 2})
    kill_and_resume(recipe, tmp_path, moments(Random(3), 10))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cho2014", "vaswani2017"])
def test_the_other_models_killed_five_times(name: str, write_recipe: WriteRecipe, tmp_path: Path) -> None:
    kill_and_resume(write_recipe(name, **{"train.max_steps": 27}), tmp_path, moments(Random(4), 5))


OPTIONS: dict[str, dict[str, Any]] = {
    "muon": {"train.optimiser": "muon", "train.schedule": "staircase", "train.decay_after": 1.0},
    "plateau": {"train.optimiser": "sgd", "train.momentum": 0.9, "train.schedule": "plateau", "train.average": 2},
    "own words": {"train.sampling": "linear", "train.sampling_half": 10, "train.precision": "fp16"},
    "guided": {"train.guided": 0.5, "train.guided_decay": 0.8, "train.freeze": ["encoder"]},
}


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_the_options_killed_five_times(option: str, write_recipe: WriteRecipe, tmp_path: Path) -> None:
    settings = {"train.max_steps": 27, "train.least_lr": 1e-9, **OPTIONS[option]}
    if option == "guided":
        (tmp_path / "links.align").write_text("0-0 1-1\n" * 120)
        settings["data.alignments"] = str(tmp_path / "links.align")
    kill_and_resume(write_recipe(**settings), tmp_path, moments(Random(5), 5))


@pytest.mark.slow
def test_by_epochs_from_every_save(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    """The same in one process: a run cut short by its budget, which is then raised, is the longer run."""
    whole = make_recipe(**{"train.max_steps": None, "train.max_epochs": 3, "train.schedule": "constant"})
    train(whole, tmp_path / "whole")
    cut = make_recipe(**{"train.max_steps": 3, "train.max_epochs": 3, "train.schedule": "constant"})
    train(cut, tmp_path / "cut")
    train(whole, tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")


def test_resuming_what_is_finished_changes_nothing(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe(**{"train.average": 2})
    first = train(recipe, tmp_path / "run")
    before = metrics(tmp_path / "run")
    model = (tmp_path / "run" / "model.safetensors").read_bytes()
    again = train(recipe, tmp_path / "run", resume=True)
    assert (again.finished, again.step) == (True, first.step)
    assert metrics(tmp_path / "run") == before
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == model
