"""A run that is killed at any moment and resumed equals a run that was never killed, to the bit on a CPU."""

import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from training_processes import KillPoint, ProcessResult, metrics, run_saccade

from saccade import files, model_folder
from saccade.train.recipe import Recipe
from saccade.train.translation import train

MakeRecipe = Callable[..., Recipe]
WriteRecipe = Callable[..., Path]


def start_or_resume(
    recipe: Path, out: Path, kill: KillPoint | None = None, choose_signal: Callable[[], int | None] | None = None
) -> ProcessResult:
    resume = ("--resume",) if (out / "recipe.toml").exists() else ()
    return run_saccade("train", recipe, "--out", out, *resume, out=out, kill=kill, choose_signal=choose_signal)


def assert_same_run(out: Path, uninterrupted: Path) -> None:
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (out / name).read_bytes() == (uninterrupted / name).read_bytes(), name
    state, expected = model_folder.load_training(out), model_folder.load_training(uninterrupted)
    del state["progress"]["seconds"], expected["progress"]["seconds"]
    for name, tensor in expected.pop("model").items():
        assert torch.equal(state["model"][name], tensor), name
    assert state["batches"] == expected["batches"]
    for random_state, expected_state in zip(state["random"], expected["random"], strict=True):
        assert torch.equal(random_state["cpu"], expected_state["cpu"])
    assert state["progress"].keys() == expected["progress"].keys()
    assert state["progress"]["best"] == expected["progress"]["best"]


def assert_whole(out: Path) -> None:
    """A killed run leaves nothing, or a whole model."""
    try:
        files.recover(out)
        if (out / "config.json").exists():
            model_folder.load_model(out)
    except FileNotFoundError:
        assert not out.exists()


def kill_and_resume(recipe: Path, tmp_path: Path, kills: Iterable[KillPoint | float]) -> None:
    """A number instead of a kill point: killed from outside, so many seconds after the training has begun."""
    reference, out = tmp_path / "reference", tmp_path / "out"
    assert start_or_resume(recipe, reference).code == 0
    for kill in kills:
        result = (
            start_or_resume(recipe, out, kill)
            if isinstance(kill, KillPoint)
            else start_or_resume(recipe, out, choose_signal=_kill_after(kill, out))
        )
        assert result.code == -signal.SIGKILL, (kill, result.stderr)
        assert_whole(out)
    result = start_or_resume(recipe, out)
    assert result.code == 0, result.stderr
    assert_same_run(out, reference)


def _kill_after(seconds: float, out: Path) -> Callable[[], int | None]:
    def version() -> int:
        path = out / "metrics.jsonl"
        return path.stat().st_mtime_ns if path.exists() else 0

    before, start = version(), 0.0

    def choose_signal() -> int | None:
        nonlocal start
        if not start and version() != before:
            start = time.monotonic()
        return signal.SIGKILL if start and time.monotonic() - start >= seconds else None

    return choose_signal


def draw_kills(random: Random, count: int) -> list[KillPoint | float]:
    """Of each five: three between two operations, one in the middle of a file, one from outside.

    A validation is about 120 operations, and writes up to 3 files by `write_bytes`; a start is 30 or 60 operations.
    """
    kills: list[KillPoint | float] = []
    for i in range(count):
        if i % 5 == 3:
            kills.append(KillPoint(torn=random.randint(1, 4)))
        elif i % 5 == 4:
            kills.append(random.uniform(0, 0.15))
        else:
            kills.append(KillPoint(operation=random.randint(1, 300)))
    return kills


@pytest.mark.slow
def test_killed_run_resumes_to_the_bit(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    kill_and_resume(write_recipe(**{"train.max_steps": 22, "train.average": 3}), tmp_path, draw_kills(Random(1), 5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_run_killed_twenty_times_resumes_to_the_bit(seed: int, write_recipe: WriteRecipe, tmp_path: Path) -> None:
    kill_and_resume(
        write_recipe(**{"train.max_steps": 110, "train.average": 3}), tmp_path, draw_kills(Random(seed), 20)
    )


@pytest.mark.slow
def test_run_by_epochs_killed_ten_times_resumes_to_the_bit(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**{"train.max_steps": None, "train.max_epochs": 18, "train.accumulate": 2})
    kill_and_resume(recipe, tmp_path, draw_kills(Random(3), 10))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cho2014", "vaswani2017"])
def test_other_models_killed_five_times_resume_to_the_bit(name: str, write_recipe: WriteRecipe, tmp_path: Path) -> None:
    kill_and_resume(write_recipe(name, **{"train.max_steps": 27}), tmp_path, draw_kills(Random(4), 5))


OPTIONS: dict[str, dict[str, Any]] = {
    "muon": {"train.optimiser": "muon", "train.schedule": "staircase", "train.decay_after": 1.0},
    "plateau": {"train.optimiser": "sgd", "train.momentum": 0.9, "train.schedule": "plateau", "train.average": 2},
    "own words": {"train.sampling": "linear", "train.sampling_half": 10, "train.precision": "fp16"},
    "guided": {"train.guided": 0.5, "train.guided_decay": 0.8, "train.freeze": ["encoder"]},
    "R-Drop": {"train.r_drop": 5.0, "train.word_dropout": 0.2, "data.both_directions": 2},
    "SimCut": {"train.simcut": 3.0, "train.simcut_share": 0.2, "data.both_directions": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_runs_with_options_killed_five_times_resume_to_the_bit(
    option: str, write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    settings = {"train.max_steps": 27, "train.least_lr": 1e-9, **OPTIONS[option]}
    if option == "guided":
        (tmp_path / "links.align").write_text("0-0 1-1\n" * 120)
        settings["data.alignments"] = str(tmp_path / "links.align")
    kill_and_resume(write_recipe(**settings), tmp_path, draw_kills(Random(5), 5))


@pytest.mark.slow
def test_run_with_a_raised_budget_equals_the_longer_run(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    """In one process: a run that its budget ended is resumed with a larger one."""
    whole = make_recipe(**{"train.max_steps": None, "train.max_epochs": 3, "train.schedule": "constant"})
    train(whole, tmp_path / "whole")
    cut = make_recipe(**{"train.max_steps": 3, "train.max_epochs": 3, "train.schedule": "constant"})
    train(cut, tmp_path / "cut")
    train(whole, tmp_path / "cut", resume=True)
    assert_same_run(tmp_path / "cut", tmp_path / "whole")


@pytest.mark.parametrize("option", ["R-Drop", pytest.param("SimCut", marks=pytest.mark.slow)])
def test_run_on_small_data_continues_to_the_bit(option: str, make_recipe: MakeRecipe, tmp_path: Path) -> None:
    """Stopped in the second of two epochs in both directions."""

    def continued_at(*steps: int) -> Path:
        out = tmp_path / "-".join(map(str, steps))
        for place, last in enumerate(steps):
            settings = {"train.max_steps": last, "train.schedule": "constant", "train.tokens": 600, **OPTIONS[option]}
            recipe = make_recipe("vaswani2017", **settings, **{"model.stochastic_depth": 0.3, "train.judge": "loss"})
            train(recipe, out, resume=place > 0)
        return out

    continued = continued_at(9, 15)
    assert model_folder.load_training(continued)["batches"]["epoch"] == 3
    assert_same_run(continued, continued_at(15))


def test_resuming_a_finished_run_changes_nothing(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    recipe = make_recipe(**{"train.average": 2})
    first = train(recipe, tmp_path / "run")
    before = metrics(tmp_path / "run")
    model = (tmp_path / "run" / "model.safetensors").read_bytes()
    second = train(recipe, tmp_path / "run", resume=True)
    assert (second.finished, second.step) == (True, first.step)
    assert metrics(tmp_path / "run") == before
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == model
