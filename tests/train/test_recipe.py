"""Recipes: an error names the key that is wrong, and a saved recipe reads back unchanged."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saccade import config
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.ranges import OptionError
from saccade.train.data_options import Data
from saccade.train.recipe import Recipe, load_recipe, recipe_of
from saccade.train.training_options import Training

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_loads_and_is_written_back_the_same(path: Path, tmp_path: Path) -> None:
    recipe = load_recipe(path)
    assert load_recipe(write(tmp_path / "again.toml", recipe.to_toml())) == recipe


def test_there_are_recipes() -> None:
    assert RECIPES


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("preset", ["tiny", "small", "base", "paper"])
def test_settings_change_a_preset(name: str, preset: str, tmp_path: Path) -> None:
    mapping = {"data": {"pairs": "p.tsv"}, "model": {"name": name, "preset": preset, "dropout": 0.45}}
    recipe = recipe_of(mapping, "here")
    assert recipe.settings.dropout == 0.45
    assert {**vars(recipe.settings), "dropout": 0} == {**vars(MODELS[name].PRESETS[preset]), "dropout": 0}
    assert load_recipe(write(tmp_path / "again.toml", recipe.to_toml())) == recipe


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("train.lrr = 1", "train.lrr: unknown key; did you mean 'lr'?"),
        ("lr = 1", "lr: unknown key; did you mean 'train.lr'?"),
        ("train.lr = 'much'", 'train.lr: "much" given, expected a number'),
        ("train.max_steps = 1.5", "train.max_steps: 1.5 given, expected a whole number"),
        ("train.max_steps = -1", "train.max_steps: -1 given, expected a whole number from 0"),
        ("train.lr = nan", "train.lr: nan given, expected a number above 0"),
        ("train.threads = -1", "train.threads: -1 given, expected a whole number from 1 to 1,000"),
        ("train.seed = -1", "train.seed: -1 given, expected a whole number from 0"),
        ("data.valid_share = 2", "data.valid_share: 2 given, expected a number above 0 and below 1"),
        ("model.hidden = 1000000000000000000", "expected a whole number from 1 to 65,536"),
        ("model.output_dropout = 2", "model.output_dropout: 2 given, expected a number at least 0 and below 1"),
        ("train.schedule = 'cosin'", "train.schedule"),
        ("train.tokens = 0", "train.tokens: 0 given, expected a whole number from 1 to"),
        ("train.nesterov = true", "train.nesterov: needs SGD with momentum: set optimiser = 'sgd' and momentum = 0.9"),
        ("train.sampling = 'cubic'", "train.sampling"),
        ("train.freeze = 'encoder'", 'train.freeze: "encoder" given, expected a list of strings'),
        ("train.precision = 'fp8'", "train.precision"),
        ("data.vocabulary.kind = 'bbpe'", "data.vocabulary.kind"),
        ("model.hiden = 3", "model.hiden: unknown key; did you mean 'hidden'?"),
        ("model.preset = ['small']", "model.preset: ['small'] given, expected one of tiny, small, base, paper"),
        ("model.preset = 'smal'", "model.preset: 'smal' given, expected one of tiny, small, base, paper"),
    ],
)
def test_an_error_names_the_file_and_the_key(line: str, expected: str, tmp_path: Path) -> None:
    path = write(tmp_path / "r.toml", f"{line}\ndata.pairs = 'p.tsv'\nmodel.name = 'cho2014'\n")
    with pytest.raises(UserError) as error:
        load_recipe(path)
    assert str(error.value).startswith(f"{path}: ") and expected in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data.pairs = 'p.tsv'", f"model.name: missing; expected one of {', '.join(MODELS)}"),
        ("data.pairs = 'p.tsv'\nmodel.name = 'bahdanau2015'", "did you mean 'bahdanau2014'?"),
        ("model.name = 'cho2014'", "data.pairs: missing"),
        ("[data\n", "r.toml:1: not valid TOML"),
    ],
)
def test_missing_and_unknown_names_are_refused(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        load_recipe(write(tmp_path / "r.toml", text))
    assert expected in str(error.value)


def test_overrides_come_last(tmp_path: Path) -> None:
    path = write(tmp_path / "r.toml", "data.pairs = 'p.tsv'\nmodel = {name = 'cho2014', preset = 'tiny'}\n")
    recipe = load_recipe(path, ["train.lr=3e-4", "model.hidden=5", "train.clip=none", "data.words=[2, 9]"])
    assert (recipe.train.lr, recipe.settings.hidden, recipe.train.clip) == (3e-4, 5, None)
    assert recipe.data.words == (2, 9) and isinstance(recipe, Recipe)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"joint": False}, "two vocabularies (joint = false)"),
        ({"target_vocabulary": {"kind": "char"}}, "two vocabularies (joint = false)"),
        ({"pairs": "", "corpora": [{"pairs": "p.tsv", "tag": "<fr>"}]}, "tags"),
        ({"alignments": "links.txt"}, "alignments"),
        ({"right_to_left": True}, "right_to_left"),
    ],
)
def test_what_goes_in_one_direction_is_refused_with_both(settings: dict[str, Any], reason: str) -> None:
    one_way = recipe_of({"data": {"pairs": "p.tsv", **settings}, "model": {"name": "cho2014"}}, "here")
    with pytest.raises(OptionError) as error:
        replace(one_way.data, both_directions=1)
    assert (error.value.field, error.value.message) == (
        "both_directions",
        f"does not go with {reason}: leave one of them out",
    )
    with pytest.raises(UserError, match=r"here: data\.both_directions: does not go with"):
        recipe_of(config.override(one_way.to_dict(), ["data.both_directions=1"]), "here")


def test_a_run_always_has_a_budget() -> None:
    assert Training().max_epochs == 30 and Training(max_minutes=1).max_epochs is None


def test_every_key_has_help() -> None:
    assert [key.key for cls in (Data, Training) for key in config.describe(cls) if not key.help] == []
