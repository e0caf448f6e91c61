"""Progress of long calls: a callback in Python, a bar in the terminal."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Progress = Callable[[int, int | None], None]  # (finished, total), or None for an unknown total
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # (title, total) → a function that advances


def count_up(progress: Progress | None, total: int | None) -> Callable[[int], None]:
    """A function that is called with the number of texts finished since its last call, and reports their sum."""
    finished = 0

    def advance(more: int) -> None:
        nonlocal finished
        finished += more
        if progress is not None:
            progress(finished, total)

    return advance


def as_bar(progress: Progress | None) -> Bar:
    return lambda title, total: nullcontext(count_up(progress, total))
