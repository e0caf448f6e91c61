"""Logs for TensorBoard, and the error when TensorBoard is not installed."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.errors import UserError
from saccade.train import log
from saccade.train.recipe import Recipe
from saccade.train.translation import train

MakeRecipe = Callable[..., Recipe]


def test_without_the_extra(make_recipe: MakeRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *_: Any) -> Any:
        return None if name == "tensorboard" else importlib.util.find_spec(name)

    monkeypatch.setattr(log, "find_spec", missing)
    with pytest.raises(UserError, match=r"pip install tensorboard"):
        train(make_recipe(**{"train.tensorboard": True}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TensorBoard's own
def test_curves_go_on_when_a_run_does(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    written = {"train.tensorboard": True, "train.schedule": "constant", "train.check_every": 2}
    train(make_recipe(**written, **{"train.max_steps": 4}), tmp_path / "run")
    train(make_recipe(**written, **{"train.max_steps": 7}), tmp_path / "run", resume=True)
    found = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    steps = {tag: [event.step for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}
    assert steps.keys() == {"loss", "rate", "tokens/s", "valid loss", "BLEU"}
    for tag, noted in steps.items():
        assert noted == ([2, 4, 6, 7] if tag in ("valid loss", "BLEU") else [1, 2, 3, 4, 5, 6, 7]), tag
    assert [event.value for event in found.Scalars("rate")][-1] == pytest.approx(1e-2)
