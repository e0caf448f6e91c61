"""Work that a thread does ahead while the caller uses what is ready."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Built = TypeVar("Built")

_AHEAD = 4  # results that wait for the caller


def build_ahead(build: Callable[[Item], Built], items: Iterable[Item]) -> Generator[Built, None, None]:
    """Call `build` on each item, in order, in a thread that is a few items ahead and ends with the iteration. What it
    raises is raised here, in its place."""
    waiting: deque[Future[Built]] = deque()
    with ThreadPoolExecutor(1, "batches") as thread:
        try:
            for item in items:
                waiting.append(thread.submit(build, item))
                if len(waiting) > _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
