"""The first signal is recorded, a second one interrupts, and the handlers are restored afterwards."""

import signal
from threading import Thread

import pytest

from saccade.train.loop import catch_interruptions


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_is_recorded_and_the_second_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with catch_interruptions() as names:
        assert names == []
        signal.raise_signal(number)
        assert names == [number.name]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_patient_run_is_never_interrupted() -> None:
    """Torchrun passes on what the terminal has sent already."""
    with catch_interruptions(patient=True) as names:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
        assert names[0] == "SIGINT"


def test_other_threads_run_without_recording_signals() -> None:
    names_seen: list[list[str]] = []

    def run() -> None:
        with catch_interruptions() as names:
            names_seen.append(names)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert names_seen == [[]]
