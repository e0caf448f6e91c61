"""Combinations of settings, their folders, and the table of their scores."""

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_processes import run_saccade

from saccade.errors import UserError
from saccade.train.recipe import load_recipe
from saccade.train.sweep import Point, Result, Sweep, plan_points, train_points

WriteRecipe = Callable[..., Path]
QUICK = {"train.max_steps": 2, "train.judge": "loss", "train.check_every": 100, "train.ema": None}


def result(score: float | None, seed: int = 1, **values: str) -> Result:
    best = None if score is None else {"step": 1, "bleu": score, "loss": 10 - score}
    name = f"{values} {seed}"
    return Result(settings=values, seed=seed, folder=name, best=best, step=1, seconds=60.0, reason="why not")


def test_every_combination_is_planned_with_every_seed(write_recipe: WriteRecipe) -> None:
    grid = ["train.lr=1e-3, 3e-4", 'model.attention=bahdanau2014,"luong2015-global-general"', "train.betas=[0.9, 0.98]"]
    points = plan_points(write_recipe(), grid, [1, 7], ["train.clip=none"])
    assert len(points) == 8 and len({point.folder for point in points}) == 8
    seen = {(p.recipe.train.lr, p.recipe.settings.attention, p.recipe.train.seed) for p in points}
    assert seen == {
        (lr, name, seed)
        for lr in (1e-3, 3e-4)
        for name in ("bahdanau2014", "luong2015-global-general")
        for seed in (1, 7)
    }
    assert all(p.recipe.train.clip is None and p.recipe.train.betas == (0.9, 0.98) for p in points)
    assert str(points[0]) == "train.lr=1e-3 model.attention=bahdanau2014 train.betas=[0.9, 0.98] seed=1"
    (alone,) = plan_points(write_recipe(), [], [3])
    assert alone.folder == "seed=3" and alone.recipe.train.seed == 3


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (["train.lrr=1,2"], "train.lrr: unknown key; did you mean 'lr'?"),
        (["train.lr=1e-3,fast"], 'train.lr: "fast" given, expected a number'),
        (["train.lr=1e-3,-1"], "train.lr: -1 given, expected a number above 0"),
        (["train.lr"], "--grid train.lr: expected KEY=VALUE,VALUE"),
        (["train.lr="], "expected KEY=VALUE,VALUE"),
        (["train.lr=1,1"], "a value is given twice"),
        (["train.lr=1", "train.lr=2"], "a key is given twice"),
        (["train.seed=1,2"], "give --seeds"),
        (["train.judge=bleu,loss"], "cannot be compared"),
        (["model.attention=bahdanau2014,luong2016"], "luong2016"),
        (["model.name=bahdanau2014,cho2014"], "model.align: unknown key"),
    ],
)
def test_a_mistake_in_any_run_is_found_before_the_first(
    grid: list[str], expected: str, write_recipe: WriteRecipe
) -> None:
    with pytest.raises(UserError) as mistake:
        plan_points(write_recipe(), grid, [1])
    assert expected in str(mistake.value) and "\n" not in str(mistake.value)


def test_leftovers_of_a_killed_run_are_removed(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    runs = plan_points(write_recipe(**QUICK), [], [1])
    assert list(train_points(runs, tmp_path / "out", lambda _: None))
    folder = tmp_path / "out" / "seed=1"
    (folder / "result.json").rename(folder / ".result.json-0123abcd")
    assert list(train_points(runs, tmp_path / "out", lambda _: None))
    assert [path.name for path in folder.glob("*result.json*")] == ["result.json"]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.dictionaries(st.sampled_from(["a.b", "c"]), st.text(max_size=200)), max_size=6))
def test_different_settings_have_different_folder_names(many: list[dict[str, str]]) -> None:
    recipe: Any = None
    folders = {
        str(point): point.folder for point in (Point(settings=settings, seed=1, recipe=recipe) for settings in many)
    }
    assert len(set(folders.values())) == len(folders)
    for name in folders.values():
        assert "/" not in name and "\\" not in name and name not in ("", ".", "..") and len(name) < 200


def test_the_table_as_computed_by_hand() -> None:
    results = [
        result(20.0, 1, lr="1"),
        result(24.0, 2, lr="1"),
        result(30.0, 1, lr="2"),
        result(None, 1, lr="3"),
        result(5.0, 1, lr="4"),
        result(None, 2, lr="4"),
    ]
    by_bleu = Sweep(recipe=Path("r.toml"), judge="bleu", results=tuple(results))
    rows = by_bleu.rows
    assert [row.settings["lr"] for row in rows] == ["2", "1", "4", "3"]
    assert (rows[1].score, rows[1].deviation, rows[1].seeds) == (22.0, pytest.approx(8**0.5), 2)
    assert rows[0].deviation is None and rows[2].failed == ("seed 2: why not",) and rows[3].score is None
    head, body = by_bleu.table()
    assert head == ["lr", "BLEU", "loss", "seeds", "minutes"]
    assert body[:2] == [["2", "30", "-20.000", "1", "1.0"], ["1", "22 ± 2.8", "-12.000", "2", "1.0"]]
    assert body[3] == ["3", "failed", "", "0", "1.0"]
    by_loss = replace(by_bleu, judge="loss").rows
    assert [row.settings["lr"] for row in by_loss] == ["2", "1", "4", "3"] and by_loss[0].score == -20.0


def test_results_are_saved_as_markdown_and_json(tmp_path: Path) -> None:
    results = (result(20.0, lr="1"), result(None, lr="2"))
    Sweep(recipe=Path("rates.toml"), judge="bleu", results=results).save(tmp_path / "new")
    text = (tmp_path / "new" / "results.md").read_text()
    assert "# rates" in text and "| 1 | 20 | -10.000 | 1 | 1.0 |" in text and "- seed 1: why not" in text
    saved = json.loads((tmp_path / "new" / "results.json").read_text())
    assert saved["judge"] == "bleu" and [row["score"] for row in saved["table"]] == [20.0, None]
    assert [run["seed"] for run in saved["runs"]] == [1, 1]


def test_a_finished_run_is_not_trained_again(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    runs = plan_points(write_recipe(**QUICK), ["train.lr=1e-2,2e-2"], [1])
    messages: list[str] = []
    first = list(train_points(runs, tmp_path / "runs", messages.append))
    assert [result.step for result in first] == [2, 2] and first[0].best != first[1].best
    assert load_recipe(tmp_path / "runs" / runs[1].folder / "recipe.toml") == runs[1].recipe
    assert any(line.startswith("2 of 2: train.lr=2e-2 seed=1: step 2, best") for line in messages)
    messages.clear()
    assert list(train_points(runs, tmp_path / "runs", messages.append)) == first
    assert messages == [f"{n} of 2: {run}: finished already" for n, run in enumerate(runs, 1)]
    (tmp_path / "runs" / runs[0].folder / "result.json").unlink()
    assert list(train_points(runs, tmp_path / "runs", messages.append)) == first  # finished: only its result is read
    changed = plan_points(write_recipe(**QUICK, **{"train.clip": 0.5}), ["train.lr=1e-2,2e-2"], [1])
    with pytest.raises(UserError, match=r"train\.clip was 1\.0, is 0\.5; give another --out"):
        list(train_points(changed, tmp_path / "runs", messages.append))


def test_a_failed_run_does_not_end_the_others(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    runs = plan_points(write_recipe(**QUICK), ["data.longest=1,200"], [1])
    messages: list[str] = []
    failed, other = train_points(runs, tmp_path / "runs", messages.append)
    assert failed.best is None and "no pair is left" in failed.reason and other.best is not None
    assert any("data.longest=1 seed=1: no pair is left" in line for line in messages)


def test_torchrun_is_refused(write_recipe: WriteRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="without torchrun"):
        list(train_points(plan_points(write_recipe(), [], [1]), tmp_path, print))


@pytest.mark.slow
def test_an_interrupted_or_killed_sweep_continues(write_recipe: WriteRecipe, tmp_path: Path) -> None:
    recipe = write_recipe(**{"train.max_steps": 12})

    def command(out: Path) -> tuple[str | Path, ...]:
        return ("sweep", recipe, "--grid", "train.lr=1e-2,1e-3", "--out", out)

    assert run_saccade(*command(tmp_path / "whole"), out=tmp_path / "whole").code == 0
    out = tmp_path / "out"
    for number, folder in ((signal.SIGKILL, "train.lr=1e-2,seed=1"), (signal.SIGINT, "train.lr=1e-3,seed=1")):
        entries = out / folder / "metrics.jsonl"

        def now(entries: Path = entries, number: int = number) -> int | None:
            return number if entries.exists() and entries.read_bytes().count(b"\n") >= 4 else None

        result = run_saccade(*command(out), out=out, choose_signal=now)
        assert result.code == (-signal.SIGKILL if number == signal.SIGKILL else 1), result.stderr
    assert "interrupted after 1 of 2 runs; the same command continues" in result.stderr
    assert run_saccade(*command(out), out=out).code == 0
    for name in ("train.lr=1e-2,seed=1", "train.lr=1e-3,seed=1"):
        for file in ("metrics.jsonl", "model.safetensors"):
            assert (out / name / file).read_bytes() == (tmp_path / "whole" / name / file).read_bytes()
