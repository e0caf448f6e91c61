"""The progress of the tour, computed by hand."""

import json
from pathlib import Path

import pytest

from saccade.tour.progress import OTHER_SECONDS, Pace, read_progress, seconds_left, slow_machine


def at_pace(times_as_long: float) -> Pace:
    """bahdanau2014 after 160 of 1,600 updates, begun at 100 s; a quiet core takes 1600 / 9.0 s for all."""
    pace = Pace(model="bahdanau2014", updates=1600)
    pace.see(0, now=100.0)
    pace.see(160, now=100.0 + times_as_long * 160 / 9.0)
    return pace


def test_an_unknown_pace_is_that_of_a_quiet_core() -> None:
    pace = Pace(model="bahdanau2014", updates=1600)
    assert pace.left(now=5.0) == pytest.approx(1600 / 9.0) and pace.slowdown == 1
    pace.see(0, now=10.0)
    assert pace.left(now=30.0) == pytest.approx(1600 / 9.0 - 20)


@pytest.mark.parametrize("times", [0.5, 1.0, 3.0])
def test_time_left_follows_the_measured_speed(times: float) -> None:
    pace = at_pace(times)
    now = pace.noted + 4.0  # since which no update was noted
    assert pace.slowdown == pytest.approx(times)
    assert pace.left(now) == pytest.approx(times * 1440 / 9.0 - 4)
    assert seconds_left([pace, at_pace(0.1)], now) == pytest.approx(pace.left(now) + times * OTHER_SECONDS)
    assert pace.left(now + 10_000) == 0
    pace.see(160, now=now)  # nothing new
    assert pace.slowdown == pytest.approx(times)


def test_a_slow_machine_gets_a_warning() -> None:
    assert slow_machine([at_pace(1.4), Pace(model="cho2014", updates=3200)]) is None
    warning = slow_machine([at_pace(1.0), at_pace(3.0)])
    assert warning is not None and "about 9 minutes instead of 3" in warning and "\n" not in warning


def test_progress_is_read_from_the_log_of_a_run(tmp_path: Path) -> None:
    places = {"fixed context": tmp_path / "cho2014", "attention": tmp_path / "bahdanau2014"}
    paces = {"fixed context": Pace(model="cho2014", updates=20), "attention": Pace(model="bahdanau2014", updates=10)}
    assert set(read_progress(places, paces, set()).states.values()) == {"reading the phrasebook"}
    for place in places.values():
        place.mkdir()
        (place / "metrics.jsonl").touch()
    assert read_progress(places, paces, set()).states["attention"] == "update 0 of 10"
    noted = {"step": 4, "epoch": 1, "loss": 2.5, "rate": 1e-3}
    (places["attention"] / "metrics.jsonl").write_text(json.dumps(noted) + "\n", encoding="utf-8")
    where = read_progress(places, paces, {"fixed context"}).states
    assert where == {"fixed context": "evaluated", "attention": "update 4 of 10, loss 2.50"}
    assert read_progress(places, paces, set(places)).seconds_left == 0
