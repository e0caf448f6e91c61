"""Signals are noted, a second one interrupts, and afterwards all is as before."""

import signal
from threading import Thread

import pytest

from saccade.train.loop import catch_interruptions


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_is_noted_and_the_second_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with catch_interruptions() as noted:
        assert noted == []
        signal.raise_signal(number)
        assert noted == [number.name]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_patient_run_notes_once_however_often() -> None:
    """Torchrun passes on what the terminal has sent already."""
    with catch_interruptions(patient=True) as noted:
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
        assert noted[0] == "SIGINT"


def test_another_thread_cannot_note_and_may_run() -> None:
    found: list[list[str]] = []

    def run() -> None:
        with catch_interruptions() as noted:
            found.append(noted)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert found == [[]]
