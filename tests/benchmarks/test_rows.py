"""The runs in benchmarks/*.toml: their settings are valid, their names unique, their controls and data are there."""

import sys
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from saccade import config
from saccade.train.recipe import load_recipe, recipe_of
from saccade.train.request import parse_budget

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import scores  # noqa: E402

OTHERS = {"language_models.toml"}  # runs of another script, with a test of their own
FILES = sorted(path for path in (ROOT / "benchmarks").glob("*.toml") if path.name not in OTHERS)


def runs(path: Path) -> list[dict[str, Any]]:
    """Every run, with one for each value in `each`, and with the keys of its data."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return [run for entry in tables["runs"] for run in scores.expanded(entry, tables["data"])]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_settings_of_every_run_are_valid(path: Path) -> None:
    for run in runs(path):
        if "recipe" in run:
            load_recipe(ROOT / run["recipe"], run.get("set", []))
        elif "control" not in run:
            tables = {"data": {"pairs": "pairs.tsv"}, "model": {"name": run.get("model", "vaswani2017")}}
            recipe_of(config.override(tables, run.get("set", [])), run["name"])
        if "budget" in run:
            parse_budget(run["budget"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_names_are_unique_and_goals_name_other_runs(path: Path) -> None:
    names = [run["name"] for run in runs(path)]
    assert len(names) == len(set(names))
    for run in runs(path):
        assert "train" in run and set(run.get("on", ["test"])) <= run.keys()
        assert {run.get("of", run["name"]), *run.get("goal", {}).get("above", [])} <= set(names)


def test_every_combination_of_words_is_a_run() -> None:
    entry = {"name": "{a}-{b}", "each": {"a": ["x", "y"], "b": ["1", "2"]}, "data": "{a}"}
    combined = list(scores.expanded(entry, {"x": {"test": ["{b}.tsv"]}}))
    assert [run["name"] for run in combined] == ["x-1", "x-2", "y-1", "y-2"]
    assert [run["data"] for run in combined] == ["x", "x", "y", "y"]
    assert [run.get("test") for run in combined] == [["1.tsv"], ["2.tsv"], None, None]
    assert list(scores.expanded({"name": "one"}, {})) == [{"name": "one", "set": []}]


def test_data_can_list_the_words_of_its_runs() -> None:
    tables = {"low": {"each": {"language": ["ita", "rum"]}, "train": ["{language}.tsv"]}}
    combined = list(scores.expanded({"name": "rnn-{language}", "data": "low"}, tables))
    assert [(run["name"], run["train"]) for run in combined] == [("rnn-ita", ["ita.tsv"]), ("rnn-rum", ["rum.tsv"])]


def test_settings_of_a_run_follow_those_of_its_data(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text('[data.d]\nset = ["a=1"]\n[[runs]]\nname = "r"\ndata = "d"\nset = ["a=2"]\n', encoding="utf-8")
    given = Namespace(rows=path, out=tmp_path / "out.json", only=["*"], seeds=[1], alone=None, like=None)
    assert [row["set"] for row in scores.planned(given)] == [["a=1", "a=2"]]
