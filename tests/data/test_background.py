import threading
from collections.abc import Iterator

import pytest

from saccade.data.background import build_ahead
from saccade.errors import UserError


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("count", [0, 1, 3, 50])
def test_results_come_in_order(count: int) -> None:
    assert list(build_ahead(lambda item: item * item, range(count))) == [item * item for item in range(count)]


def test_a_few_results_are_built_before_they_are_needed() -> None:
    built, reached = [], threading.Event()

    def build(item: int) -> int:
        built.append(item)
        if item == 2:
            reached.set()
        return item

    results = build_ahead(build, range(100))
    assert next(results) == 0 and reached.wait(10)
    results.close()
    assert len(built) < 10


def test_an_error_is_raised_after_the_results_before_it() -> None:
    def build(item: int) -> int:
        if item == 3:
            raise UserError("the file has become shorter")
        return item

    results = build_ahead(build, range(100))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UserError, match="has become shorter"):
        next(results)


def test_an_interruption_ends_the_thread() -> None:
    with pytest.raises(KeyboardInterrupt):
        for item in build_ahead(lambda item: item, range(100)):
            if item == 5:
                raise KeyboardInterrupt


def test_an_iteration_that_is_dropped_ends_the_thread() -> None:
    results = build_ahead(lambda item: item, range(100))
    next(results)
    del results
