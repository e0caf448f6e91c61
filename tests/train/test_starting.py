"""A run's folder when it is taken up again: what is kept, and what must be as it was."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.train.loop import train
from saccade.train.recipe import Recipe, load_recipe

MakeRecipe = Callable[..., Recipe]
SHORT = {"train.judge": "loss", "train.max_steps": 2}


def test_the_budget_that_a_resumed_run_is_given_is_kept(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_recipe(**SHORT), out)
    longer = make_recipe(**{**SHORT, "train.max_steps": 4, "train.patience": 7})
    assert train(longer, out, resume=True).step == 4
    assert load_recipe(out / "recipe.toml") == longer


def test_a_recipe_that_does_not_fit_is_not_kept(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_recipe(**SHORT), out)
    before = (out / "recipe.toml").read_bytes()
    with pytest.raises(UserError, match="not of the model and optimiser"):
        train(make_recipe(**{**SHORT, "model.hidden": 8}), out, resume=True)
    assert (out / "recipe.toml").read_bytes() == before


def test_pairs_that_have_changed_are_noticed(make_recipe: MakeRecipe, pairs_file: Path, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.tsv", tmp_path / "run"
    shutil.copy(pairs_file, mine)
    train(make_recipe(**SHORT, **{"data.pairs": str(mine)}), out)
    longer = make_recipe(**{**SHORT, "data.pairs": str(mine), "train.max_steps": 4})
    with mine.open("a") as stream:
        stream.write("one more pair\tencore une paire\n")
    files = {path: path.read_bytes() for path in out.iterdir() if path.is_file()}
    with pytest.raises(UserError, match=rf"{mine}: not the pairs that the run in {out} began with; put them back"):
        train(longer, out, resume=True)
    assert all(path.read_bytes() == content for path, content in files.items())
    shutil.copy(pairs_file, mine)
    assert train(longer, out, resume=True).step == 4
