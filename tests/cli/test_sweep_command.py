"""`saccade sweep`: the table, repeated and failed runs, and mistakes."""

import json
from functools import partial
from pathlib import Path

import pytest
from running import Run

from saccade.tasks import task


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    drawn = task("phrasebook-en-fr").pairs(60, seed=1, words=(3, 5))
    (tmp_path / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in drawn), encoding="utf-8")
    text = f"""
    data = {{pairs = "{tmp_path}/pairs.tsv", vocabulary = {{kind = "bpe", size = 330}}}}
    model = {{name = "cho2014", preset = "tiny", embedding = 8, hidden = 8, maxout = 8}}
    [train]
    max_steps = 4
    check_every = 2
    judge_on = 2
    tokens = 200
    device = "cpu"
    threads = 1
    """
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    return tmp_path / "recipe.toml"


@pytest.fixture
def run(saccade: Run) -> Run:
    return partial(saccade, "sweep")


def test_sweep_prints_a_table_and_repeats_no_run(recipe: Path, run: Run, tmp_path: Path) -> None:
    command = (recipe, "--grid", "train.lr=1e-2,1e-3", "--seeds", "1,2", "--out", tmp_path / "out")
    code, out, err = run(*command)
    assert code == 0 and "train.lr" in out and "±" in out and "BLEU" in out
    assert "4 of 4: train.lr=1e-3 seed=2: step 4, best BLEU" in err
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert folders == {f"train.lr={lr},seed={seed}" for lr in ("1e-2", "1e-3") for seed in (1, 2)}
    code, out, err = run(*command, "--json")
    results = json.loads(out)
    assert code == 0 and err.count("finished already") == 4
    assert results == json.loads((tmp_path / "out" / "results.json").read_text()) and len(results["runs"]) == 4
    scores = [row["score"] for row in results["table"]]
    assert scores == sorted(scores, reverse=True) and (tmp_path / "out" / "results.md").exists()


def test_sweep_explains_a_mistake_and_leaves_nothing(recipe: Path, run: Run, tmp_path: Path) -> None:
    for wrong in (["--grid", "train.lrr=1"], ["--seeds", "1,1"], ["--seeds", "one"], ["--set", "train.lr=no"]):
        code, out, err = run(recipe, "--out", tmp_path / "out", *wrong)
        assert code == 2 and not out and len(err.splitlines()) == 1 and err.startswith("saccade: ")
    assert not (tmp_path / "out").exists()


def test_sweep_reports_failed_runs_at_the_end(recipe: Path, run: Run, tmp_path: Path) -> None:
    code, out, err = run(recipe, "--grid", "data.longest=1,100", "--out", tmp_path / "out")
    assert code == 2 and "failed" in out and "1 of 2 runs failed; the first: no pair is left" in err
