"""The pace of updates, measured before a recipe is chosen."""

import pytest
import torch

from saccade.models import MODELS
from saccade.train import pace
from saccade.train.pace import updates_per_second
from saccade.train.resources import restore_thread_count
from saccade.train.training_options import Training


@pytest.mark.parametrize("model", ["bahdanau2014", "vaswani2017"])
def test_measuring_the_pace_keeps_the_random_state(model: str) -> None:
    before = torch.get_rng_state()
    rate = updates_per_second(
        model,
        MODELS[model].PRESETS["tiny"],
        Training(tokens=40, r_drop=5.0),
        device=torch.device("cpu"),
        vocabulary=30,
        length=5,
        seconds=0.0,
    )
    assert rate > 0
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
    assert len(rows) > 1 and set(rows) == {16}


def test_the_pace_is_that_of_the_better_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run times one thread and all of them, and takes the faster, so that a time limit allows for that one."""
    now, submit = 0.0, pace.submit_update

    def submit_slowly(*arguments: object) -> object:
        nonlocal now
        now += 1.0 if torch.get_num_threads() == 1 else 3.0
        return submit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pace, "submit_update", submit_slowly)
    monkeypatch.setattr(pace.time, "perf_counter", lambda: now)
    sizes = {"device": torch.device("cpu"), "vocabulary": 30, "length": 5, "seconds": 12.0}
    with restore_thread_count():
        for threads in (1, 2):
            torch.set_num_threads(threads)
            settings = MODELS["bahdanau2014"].PRESETS["tiny"]
            assert updates_per_second("bahdanau2014", settings, Training(tokens=40), **sizes) == 1.0  # type: ignore[arg-type]
            assert torch.get_num_threads() == threads
