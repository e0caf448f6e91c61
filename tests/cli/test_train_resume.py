"""`saccade train --resume`: only the command that began a run resumes it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from running import QUICK, Run

from saccade.train.recipe import load_recipe

Refused = Callable[..., None]
MORE = ("--set", "train.max_steps=3")


@pytest.fixture
def place(tsv: bytes, tmp_path: Path) -> Path:
    for name in ("p.tsv", "other.tsv", "v.tsv"):
        (tmp_path / name).write_bytes(tsv)
    return tmp_path


def test_same_command_resumes_training(train: Run, place: Path) -> None:
    begun = ("p.tsv", "--out", "m", "--valid", "v.tsv", *QUICK, "--set", "train.tokens=auto", "--set", "train.seed=4")
    assert train(*begun).code == 0
    before = (place / "m" / "recipe.toml").read_bytes()
    done = train(*begun, "--resume")
    assert done.code == 0 and "resumed at step 1" in done.err, done.err
    assert (place / "m" / "recipe.toml").read_bytes() == before
    done = train("./p.tsv", "--out", "m", "--valid", place / "v.tsv", *QUICK, "--resume", *MORE)
    assert done.code == 0 and "step 3" in done.err, done.err
    done = train("p.tsv", "--out", "m", "--resume", "--set", "train.max_steps=4")  # what is left out stays
    assert done.code == 0 and load_recipe(place / "m" / "recipe.toml").train.seed == 4


DIFFERENCES = [
    (["nonexistent.tsv"], "data.pairs was p.tsv, is nonexistent.tsv"),
    (["other.tsv"], "data.pairs was p.tsv, is other.tsv"),
    (["p.tsv", "other.tsv"], "data.targets was none, is other.tsv"),
    (["-"], "data.pairs was p.tsv, is -"),
    (["task:phrasebook-en-fr"], "data.pairs was p.tsv, is task:phrasebook-en-fr"),
    (["p.tsv", "--model", "vaswani2017"], "model.name was cho2014, is vaswani2017"),
    (["p.tsv", "--set", "train.lr=1"], "train.lr was 0.002, is 1.0"),
    (["p.tsv", "--set", "model.hidden=9"], "model.hidden was 8, is 9"),
    (["p.tsv", "--set", "model.preset=small"], "model."),
    (["p.tsv", "--valid", "v.tsv"], "data.valid was none, is v.tsv"),
    (["p.tsv", "--mix", "other.tsv"], "data.corpora was []"),
    (["p.tsv", "--vocab-from", "m"], "data.vocab_from was none, is m"),
    (["p.tsv", "--init-from", "m"], "train.init_from was none, is m"),
    (["p.tsv", "--set", "train.max_stepz=1"], "train.max_stepz: unknown key; did you mean 'max_steps'?"),
    (["p.tsv", "--set", "model=cho2014"], "model: "),
    (["r.toml"], "train.lr was 0.002, is 0.5"),
    (["r.toml", "p.tsv"], "is a recipe, which names its own files"),
    (["r.toml", "--mix", "p.tsv"], "list what it is to mix in [[data.corpora]]"),
]


def test_different_command_is_refused_and_the_difference_named(train: Run, refused: Refused, place: Path) -> None:
    (place / "r.toml").write_text("data.pairs = 'p.tsv'\nmodel.name = 'cho2014'\ntrain.lr = 0.5\n")
    assert train("p.tsv", "--out", "m", *QUICK, "--set", "train.lr=0.002").code == 0
    for arguments, message in DIFFERENCES:
        refused(*arguments, "--out", "m", "--resume", *MORE, message=message)


def test_recipe_resumes_training(train: Run, refused: Refused, place: Path) -> None:
    text = "data = {{pairs = 'p.tsv', vocabulary.size = 330}}\nmodel = {{name = 'cho2014', preset = 'tiny'}}\n"
    text += "train.max_steps = {}\n"
    (place / "r.toml").write_text(text.format(1))
    begun = ("r.toml", "--out", "m", "--set", "train.judge=loss", "--set", "train.device=cpu")
    assert train(*begun).code == 0
    (place / "r.toml").write_text(text.format(2))
    assert train(*begun, "--resume").code == 0
    assert load_recipe(place / "m" / "recipe.toml").train.max_steps == 2
    (place / "r.toml").write_text(text.format(2).replace("330", "331"))
    refused(*begun, "--resume", message="data.vocabulary.size was 330, is 331")
    (place / "r.toml").write_text(text.format(2).replace("tiny", "small"))
    refused(*begun, "--resume", message="model.")
    (place / "r.toml").write_text("[[data.corpora]]\npairs = 'other.tsv'\n[model]\nname = 'cho2014'\n")
    refused(*begun, "--resume", message="data.corpora was []")


def test_training_with_mixed_pairs_resumes(train: Run, refused: Refused, place: Path) -> None:
    begun = ("p.tsv", "--out", "m", "--mix", "other.tsv", "--valid", "v.tsv", *QUICK)
    assert train(*begun).code == 0
    assert train(*begun, "--resume", *MORE).code == 0
    refused(*begun, "--resume", *MORE, "--mix-share", "0.5", message="data.corpora was")
    refused(*begun, "--resume", *MORE, "--mix", "v.tsv", message="data.corpora was")


def test_changed_validation_pairs_are_refused(train: Run, refused: Refused, place: Path) -> None:
    begun = ("p.tsv", "--out", "m", "--valid", "v.tsv", *QUICK)
    assert train(*begun).code == 0
    (place / "v.tsv").write_text("it eats\til mange\n")
    refused(*begun, "--resume", *MORE, message="v.tsv: not the validation pairs that the run in m began with")
