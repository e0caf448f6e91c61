"""The folder of a run: its lock, recipe and card, and when it is resumed."""

import errno
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade import names
from saccade.decode import load
from saccade.errors import UserError
from saccade.train.distributed import Workers
from saccade.train.learner import model_card
from saccade.train.recipe import Recipe, load_recipe, load_saved_recipe
from saccade.train.run import claim_folder
from saccade.train.translation import start, train

MakeRecipe = Callable[..., Recipe]
SHORT = {"train.judge": "loss", "train.max_steps": 2}


def test_budget_of_a_resumed_run_is_saved(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_recipe(**SHORT), out)
    longer = make_recipe(**{**SHORT, "train.max_steps": 4, "train.patience": 7})
    assert train(longer, out, resume=True).step == 4
    assert load_recipe(out / "recipe.toml") == longer


def test_recipe_that_does_not_fit_is_not_saved(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_recipe(**SHORT), out)
    before = (out / "recipe.toml").read_bytes()
    with pytest.raises(UserError, match="does not fit the model and optimiser"):
        train(make_recipe(**{**SHORT, "model.hidden": 8}), out, resume=True)
    assert (out / "recipe.toml").read_bytes() == before


def test_changed_pairs_are_refused(make_recipe: MakeRecipe, pairs_file: Path, tmp_path: Path) -> None:
    own_file, out = tmp_path / "mine.tsv", tmp_path / "run"
    shutil.copy(pairs_file, own_file)
    train(make_recipe(**SHORT, **{"data.pairs": str(own_file)}), out)
    longer = make_recipe(**{**SHORT, "data.pairs": str(own_file), "train.max_steps": 4})
    with own_file.open("a") as stream:
        stream.write("one more pair\tencore une paire\n")
    files = {path: path.read_bytes() for path in out.iterdir() if path.is_file()}
    with pytest.raises(UserError, match=rf"{own_file}: not the pairs that the run in {out} began with; put them back"):
        train(longer, out, resume=True)
    assert all(path.read_bytes() == content for path, content in files.items())
    shutil.copy(pairs_file, own_file)
    assert train(longer, out, resume=True).step == 4


@pytest.mark.parametrize("mistake", [UserError("a mistake"), OSError(errno.ENAMETOOLONG, "File name too long")])
def test_mistake_before_the_first_step_leaves_nothing(mistake: Exception, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(type(mistake)), claim_folder(Workers(), out):
        (out / "cache").mkdir(parents=True)
        raise mistake
    assert not out.exists()


def test_folder_with_a_link_is_not_resumed(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    """The log of a run that somebody else made could be a link to any file of the user's."""
    out, precious = tmp_path / "run", tmp_path / "precious"
    train(make_recipe(**SHORT), out)
    precious.write_text("as it was\n", encoding="utf-8")
    (out / "metrics.jsonl").unlink()
    (out / "metrics.jsonl").symlink_to(precious)
    with pytest.raises(UserError, match=r"metrics\.jsonl: a symbolic link"):
        train(make_recipe(**{**SHORT, "train.max_steps": 4}), out, resume=True)
    assert precious.read_text(encoding="utf-8") == "as it was\n"


OWN_ATTENTION = """
from pathlib import Path
from saccade.attention import ATTENTIONS
Path("ran").touch()
build = ATTENTIONS["bahdanau2014"]
"""


def test_saved_recipe_runs_no_untrusted_code(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, name = tmp_path / "run", "own_attention_of_a_run:build"
    out.mkdir()
    recipe = make_recipe(**SHORT)
    text = recipe.to_toml().replace('attention = "bahdanau2014"', f'attention = "{name}"')
    (out / "recipe.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / f"{name.partition(':')[0]}.py").write_text(OWN_ATTENTION, encoding="utf-8")
    with pytest.raises(UserError, match=f"recipe.toml: model.attention is '{name}'.*--trust-code"):
        load_saved_recipe(out)
    (out / "config.json").touch()  # beside a model, a recipe is a part of its folder
    with pytest.raises(UserError, match="--trust-code"):
        load_recipe(out / "recipe.toml")
    assert not (tmp_path / "ran").exists()

    # The user's own recipe may name it, and its run loads what it has saved, and goes on.
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    own_recipe = load_recipe(tmp_path / "mine.toml")
    train(own_recipe, tmp_path / "mine")
    assert (tmp_path / "ran").exists()
    assert load(tmp_path / "mine", device="cpu").model.config.attention == name
    assert load_saved_recipe(tmp_path / "mine") == own_recipe
    monkeypatch.setattr(names, "_resolved", set())  # as in another process
    with pytest.raises(UserError, match="--trust-code"):
        load(tmp_path / "mine")
    with names.trusting_code(True):
        assert load_saved_recipe(tmp_path / "mine") == own_recipe


def test_rank0_locks_the_folder_for_all_workers(tmp_path: Path) -> None:
    with claim_folder(Workers(rank=1), tmp_path / "run"):
        assert not (tmp_path / "run").exists()
        with claim_folder(Workers(rank=0), tmp_path / "run"):
            assert (tmp_path / "run" / ".lock").exists()
    assert not (tmp_path / "run").exists()


def test_leftovers_of_a_kill_are_removed_at_the_next_start(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(make_recipe(**SHORT), out)
    whole = sorted(path.name for path in out.iterdir())
    for name in (".metrics.jsonl-0123abcd", ".recipe.toml-fedcba98", ".config.json-00000000"):
        (out / name).write_text("half of")
    (out / ".metrics.jsonl-mine").touch()  # not such a name
    train(make_recipe(**{**SHORT, "train.max_steps": 3}), out, resume=True)
    assert sorted(path.name for path in out.iterdir()) == sorted([*whole, ".metrics.jsonl-mine"])


def test_card_has_the_model_its_scores_and_its_command(
    make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(make_recipe(**{"train.seed": 7}), tmp_path / "run")
    monkeypatch.setattr(sys, "argv", ["/usr/bin/saccade", "train", "my pairs.tsv", "--out", "x"])
    best = {"step": 12, "loss": 1.23456, "bleu": 45.678, "chrf": None}
    card = model_card(run.learner, run.model, best, seed=7, seconds=90.0)
    for part in (
        f"# bahdanau2014 on {run.learner.recipe.data.pairs}",
        "Bahdanau, Cho, Bengio (2014)",
        f"{sum(p.numel() for p in run.model.parameters()):,} parameters",
        "| step | 12 |\n| loss | 1.235 |\n| bleu | 45.68 |\n",
        "kept 114 of 114 pairs",
        "saccade train 'my pairs.tsv' --out x",
        "Seed 7, 1.5 minutes",
        "torch ",
        "saccade.load(",
    ):
        assert part in card
    assert "chrf" not in card
