"""Each model learns the phrasebook: in a few hundred updates, far beyond the same model untrained."""

from pathlib import Path
from typing import Any

import pytest

from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import train

MODELS: dict[str, dict[str, Any]] = {
    "cho2014": {"embedding": 96, "hidden": 128, "maxout": 96, "dropout": 0.1},
    "bahdanau2014": {"embedding": 64, "hidden": 64, "align": 64, "maxout": 64, "dropout": 0.2},
    "vaswani2017": {"width": 64, "inner": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0},
}


def recipe(name: str, steps: int) -> Recipe:
    """Short sentences, word by word; those of validation hold combinations of words that training never shows."""
    vocabulary = {"kind": "word", "size": 2500}
    mapping = {
        "data": {
            "pairs": "task:phrasebook-en-fr",
            "count": 12_000,
            "words": [3, 6],
            "joint": False,
            "vocabulary": vocabulary,
        },
        "model": {"name": name, **MODELS[name]},
        "train": {
            "lr": 4e-3,
            "warmup": 30,
            "tokens": 600,
            "smoothing": 0.0,
            "max_steps": steps,
            "check_every": 1000,
            "judge_on": 100,
            "threads": 1,
            "device": "cpu",
        },
    }
    return recipe_of(mapping, "test")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name != "bahdanau2014")) for name in MODELS]
)
def test_model_learns_the_phrasebook(name: str, tmp_path: Path) -> None:
    control = train(recipe(name, 0), tmp_path / "untrained").best
    trained = train(recipe(name, 400), tmp_path / "trained").best
    assert control is not None and trained is not None
    assert control["loss"] > 6.5  # about the logarithm of a thousand words
    assert trained["loss"] < 3.0
    assert trained["chrf"] > control["chrf"] + 12
    assert trained["bleu"] > control["bleu"] + {"cho2014": 1, "bahdanau2014": 3, "vaswani2017": 25}[name]
