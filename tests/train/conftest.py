"""Short phrasebook pairs, and recipes of a model that is as small as can be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.tasks import task
from saccade.train.recipe import Recipe, recipe_of

SMALL: dict[str, dict[str, Any]] = {
    "cho2014": {"embedding": 16, "hidden": 16, "maxout": 16},
    "bahdanau2014": {"embedding": 16, "hidden": 16, "align": 16, "maxout": 16},
    "vaswani2017": {"width": 16, "inner": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
}


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    pairs = task("phrasebook-en-fr").pairs(120, seed=1, words=(3, 5))
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


@pytest.fixture
def make_recipe(pairs_file: Path) -> Callable[..., Recipe]:
    """make_recipe(**{"train.lr": 1e-3}): quick to train, with all that resuming must keep"""

    def make(model: str = "bahdanau2014", **settings: Any) -> Recipe:
        mapping: dict[str, Any] = {
            "data": {"pairs": str(pairs_file), "vocabulary": {"kind": "bpe", "size": 330}},
            "model": {"name": model, **SMALL[model], "dropout": 0.2, "tie": "all"},
            "train": {
                "lr": 1e-2,
                "warmup": 5,
                "tokens": 200,
                "ema": 0.9,
                "max_steps": 8,
                "check_every": 3,
                "judge_on": 3,
                "patience": 1000,
                "device": "cpu",
                "threads": 1,
            },
        }
        for key, value in settings.items():
            table, name = key.split(".")
            mapping[table][name] = value
        return recipe_of(mapping, "test")

    return make


@pytest.fixture
def write_recipe(make_recipe: Callable[..., Recipe], tmp_path: Path) -> Callable[..., Path]:
    def write(model: str = "bahdanau2014", **settings: Any) -> Path:
        path = tmp_path / "recipe.toml"
        path.write_text(make_recipe(model, **settings).to_toml(), encoding="utf-8")
        return path

    return write
