"""Recipes of tiny models on a few pairs, and folders of untrained models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.data import TextPair
from saccade.decode import save
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

RECIPE = """
data = {{pairs = "{pairs}", vocabulary = {{kind = "char", size = 330}}}}
model = {{name = "{model}", preset = "tiny", {settings}}}
[train]
max_steps = 2
check_every = 2
judge = "loss"
judge_on = 2
tokens = 100
device = "cpu"
threads = 1
"""
SMALL = {
    "cho2014": "embedding = 4, hidden = 4, maxout = 4",
    "bahdanau2014": "embedding = 4, hidden = 4, align = 4, maxout = 4",
}


@pytest.fixture
def tsv(tmp_path: Path, pairs: list[TextPair]) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs * 4), encoding="utf-8")
    return path


@pytest.fixture
def recipe(tmp_path: Path, tsv: Path) -> Callable[..., Path]:
    """recipe("cho2014", more="lr = 1e-2"): a file of that name"""

    def write(model: str, *, name: str = "", more: str = "") -> Path:
        path = tmp_path / f"{name or model}.toml"
        text = RECIPE.format(pairs=tsv, model=model, settings=SMALL[model]) + more
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def folder_of(
    untrained: Callable[..., Seq2Seq[Any, Any]], vocabularies: Vocabularies, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """folder_of("cho2014"): the folder of an untrained tiny one"""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("untrained") / name
            save(made[name], untrained(name), vocabularies)
        return made[name]

    return make


@pytest.fixture
def few(pairs: list[TextPair]) -> EvaluationSet:
    sources, references = [pair.source for pair in pairs[:4]], [[pair.target] for pair in pairs[:4]]
    return EvaluationSet(name="a few", sources=sources, references=references, places=[0, 1, 2, 3], total=4)
