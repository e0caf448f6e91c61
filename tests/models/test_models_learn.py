"""Each model learns `reverse` and `dates` on items that it has not seen, far beyond itself untrained."""

import sys
from pathlib import Path

import pytest

from saccade.models import MODELS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import learning

pytestmark = pytest.mark.slow
REORDERING = [model for model in MODELS if model not in learning.ORDER_KEEPING]
DATES = "bahdanau2014"  # the one model that also learns `dates` in `make slow`; the others take up to eight minutes
CASES = [
    pytest.param(model, task, marks=[pytest.mark.long] * (task == "dates" and model != DATES))
    for task in learning.TASKS
    for model in REORDERING
]


@pytest.mark.parametrize(("model", "task"), CASES)
def test_every_model_learns(model: str, task: str, tmp_path: Path) -> None:
    learnt = learning.learn(model, task, tmp_path)
    assert learnt.untrained == 0.0
    assert learnt.exact >= 0.95, learnt


@pytest.mark.parametrize("model", learning.ORDER_KEEPING)
def test_what_keeps_the_order_learns_to_copy(model: str, tmp_path: Path) -> None:
    kept = learning.learn(model, "copy", tmp_path)
    assert kept.exact >= 0.95 and kept.untrained == 0.0, kept


def test_aligned_rnn_cannot_reorder(tmp_path: Path) -> None:
    changed = learning.learn("aligned-rnn", "reverse", tmp_path, steps=1000)
    assert changed.exact <= 0.05, changed
