"""The files of a recipe, found in a folder."""

from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.train.recipe import load_recipe
from saccade.train.recipe_files import find_files
from saccade.train.request import TrainingRequest, plan_recipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    (data / "set").mkdir(parents=True)
    for name in ("set/train.en", "set/train.de.gz", "set/val.tsv.xz"):
        (data / name).touch()
    return data


def test_relative_files_are_found_with_and_without_compression(folder: Path) -> None:
    data = {"pairs": "set/train.en", "targets": "set/train.de", "valid": "set/val.tsv", "longest": 9}
    found = find_files({"data": data, "train": {"lr": 1}}, folder)
    assert found["train"] == {"lr": 1}
    assert found["data"] == {
        "pairs": str(folder / "set/train.en"),
        "targets": str(folder / "set/train.de.gz"),
        "valid": str(folder / "set/val.tsv.xz"),
        "longest": 9,
    }
    corpora = find_files({"data": {"corpora": [{"pairs": "set/val.tsv", "tag": "<de>"}]}}, folder)["data"]["corpora"]
    assert corpora == [{"pairs": str(folder / "set/val.tsv.xz"), "tag": "<de>"}]


@pytest.mark.parametrize("name", ["task:g2p", "hf:some/data", "-", "/elsewhere/pairs.tsv", "none", ""])
def test_what_is_no_relative_file_stays(name: str, folder: Path) -> None:
    assert find_files({"data": {"pairs": name}}, folder) == {"data": {"pairs": name}}


def test_a_missing_file_is_named(folder: Path) -> None:
    with pytest.raises(UserError, match=r"there is no set/none.en, nor set/none.en.gz"):
        find_files({"data": {"pairs": "set/none.en"}}, folder)


def test_a_recipe_is_planned_with_the_files_of_the_folder(folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\npairs = "set/train.en"\ntargets = "set/train.de"\n[model]\nname = "cho2014"\n')
    planned = plan_recipe(TrainingRequest(pairs=str(recipe), data_folder=folder))
    assert planned == load_recipe(recipe, data_folder=folder)
    assert planned.data.targets == str(folder / "set/train.de.gz")
    with pytest.raises(UserError, match="only for a recipe"):
        plan_recipe(TrainingRequest(pairs="pairs.tsv", data_folder=folder))
