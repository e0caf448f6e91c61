"""Ctrl-C and TERM, noted between two steps instead of in the middle of one."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noting_interruptions(*, patiently: bool = False) -> Iterator[list[str]]:
    """While open, the first Ctrl-C or TERM is noted in the list; a second one interrupts as usual, unless `patiently`:
    of one Ctrl-C a worker of torchrun gets two, the terminal's and torchrun's, which itself ends those that linger."""
    noted: list[str] = []

    def note(number: int, frame: FrameType | None) -> None:
        if noted and not patiently:
            raise KeyboardInterrupt
        noted.append(signal.Signals(number).name)

    try:
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread
        before = {}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
