"""The pace of updates, measured before a recipe is chosen."""

import pytest
import torch

from saccade.models import MODELS
from saccade.train.pace import updates_per_second
from saccade.train.training_options import Training


@pytest.mark.parametrize("model", ["bahdanau2014", "vaswani2017"])
def test_measuring_the_pace_keeps_the_random_state(model: str) -> None:
    before = torch.get_rng_state()
    pace = updates_per_second(
        model,
        MODELS[model].PRESETS["tiny"],
        Training(tokens=40, r_drop=5.0),
        device=torch.device("cpu"),
        vocabulary=30,
        length=5,
        seconds=0.0,
    )
    assert pace > 0
    assert torch.equal(torch.get_rng_state(), before)


def test_consistency_doubles_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both predictions are computed, so that a time limit allows for them."""
    rows: list[int] = []
    kind = MODELS["vaswani2017"]
    forward = kind.forward

    def note(self: object, source: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        rows.append(len(source))
        return forward(self, source, *inputs)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "forward", note)
    sizes = {"device": torch.device("cpu"), "vocabulary": 30, "length": 5, "seconds": 0.0}
    updates_per_second("vaswani2017", kind.PRESETS["tiny"], Training(tokens=40, r_drop=5.0), **sizes)  # type: ignore[arg-type]
    assert rows == [16, 16]
