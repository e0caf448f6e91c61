"""A model that writes from right to left, whose users see texts as usual."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from saccade.cli.commands import app
from saccade.decode import Search, load
from saccade.text import Vocabularies
from saccade.train.data_options import Data
from saccade.train.dataset import load_dataset
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import train

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "sechs"}


def translate(source: str) -> str:
    """Word by word, but the first word comes last."""
    first, *rest = source.split()
    return " ".join(WORDS[word] for word in (*rest, first))


def recipe(pairs: Path, steps: int) -> Recipe:
    mapping = {
        "data": {
            "pairs": str(pairs),
            "right_to_left": True,
            "vocabulary": {"kind": "word", "size": 40, "byte_fallback": False},
        },
        "model": {
            "name": "gehring2017",
            "embedding": 32,
            "hidden": 32,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.0,
        },
        "train": {"lr": 1e-2, "warmup": 10, "tokens": 300, "smoothing": 0.0, "max_steps": steps, "check_every": 1000}
        | {"device": "cpu", "threads": 1},
    }
    return recipe_of(mapping, "test")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, draw = tmp_path_factory.mktemp("right-to-left") / "pairs.tsv", random.Random(1)
    sources = [" ".join(draw.choices([*WORDS], k=draw.randint(2, 4))) for _ in range(1000)]
    path.write_text("".join(f"{source}\t{translate(source)}\n" for source in sources), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcome = train(recipe(pairs, 220), tmp_path_factory.mktemp("models") / "model")
    assert outcome.best is not None and outcome.best["bleu"] > 90, outcome.best
    return outcome.folder


def test_right_to_left_model_translates_and_aligns_as_usual(model: Path) -> None:
    translator = load(model, device="cpu")
    assert translator.vocabularies.joint and translator.vocabularies.target.right_to_left
    source = "six one four two"
    (result,) = translator.translate([source], Search(beam=3, n_best=2))
    assert result.text == translate(source) == "un quatre deux sechs"
    assert result.tokens == ("▁sechs", "▁deux", "▁quatre", "▁un")  # as they were written
    assert result.alignment == {(0, 3), (1, 0), (2, 1), (3, 2)}
    assert result.as_dict()["target_words"] == ["un", "quatre", "deux", "sechs"]
    (other,) = result.alternatives
    assert other.text != result.text and other.score < result.score
    (forced,) = translator.attend([source], [result.text])
    assert forced.alignment() == result.alignment


def test_command_line_shows_usual_order(model: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("two six one\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["translate", str(model), str(tmp_path / "lines"), "--jsonl", "--device", "cpu"])
    written = json.loads(result.stdout)
    assert (written["text"], written["alignment"]) == ("sechs un deux", [[1, 0], [2, 1], [0, 2]])


def test_borrowed_vocabulary_takes_the_direction_of_the_recipe(model: Path, pairs: Path, tmp_path: Path) -> None:
    data: Data = replace(recipe(pairs, 0).data, vocab_from=str(model))
    same, left_to_right = (
        load_dataset(replace(data, right_to_left=right_to_left), tmp_path / str(right_to_left), 1)
        for right_to_left in (True, False)
    )
    assert same.vocabularies.hash == Vocabularies.load(model).hash != left_to_right.vocabularies.hash
    assert same.corpus.target(0).tolist() == left_to_right.corpus.target(0).tolist()[::-1]
    assert same.corpus.source(0).tolist() == left_to_right.corpus.source(0).tolist()
    line = pairs.read_text(encoding="utf-8").splitlines()[same.corpus.lines[0] - 1]
    assert line.endswith("\t" + same.vocabularies.target.decode(same.corpus.target(0).tolist()))
