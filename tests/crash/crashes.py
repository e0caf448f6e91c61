"""Crashes enumerated, not drawn: a program is recorded once, and resumed from whatever a crash may have left of it."""

import itertools
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from disk import State, crash_states, distinct
from recording import Recording


@dataclass(frozen=True)
class Outcome:
    operations: int  # that were recorded
    states: int  # that a crash may leave, as far as they were enumerated
    tried: int
    failures: tuple[str, ...]

    def __str__(self) -> str:
        failed = f"{len(self.failures)} failures"
        return f"{self.operations} operations, {self.tried:,} of {self.states:,} states tried, {failed}"


def try_crashes(
    record: Recording,
    check: Callable[[Path, bool], None],
    scratch: Path,
    *,
    most: int | None = None,
    samples: int = 4,
    seed: int = 1,
    stop: bool = False,
) -> Outcome:
    """Call `check` with a folder as each crash may leave it, and with whether the program had come to its end.

    At most so many states are tried, drawn by `seed`, and with `stop` none after the first failure; the folder has the
    same path each time.
    """
    operations = record.operations
    states = list(distinct(crash_states(record.before, operations, samples=samples, seed=seed)))
    chosen = states if most is None or most >= len(states) else random.Random(seed).sample(states, most)
    tried, failures = 0, list[str]()
    with mock.patch.object(os, "fsync", lambda handle: None):  # the crash is over: what is done now need not last
        for state in chosen:
            tried += 1
            shutil.rmtree(scratch, ignore_errors=True)
            state.disk.write_to(scratch)
            try:
                check(scratch, state.after == len(operations))
            except Exception as error:  # whatever it is, it is what the user would have met
                failures.append(f"{_described(state, operations[state.after - 1 :])}: {type(error).__name__}: {error}")
            if stop and failures:
                break
    return Outcome(len(operations), len(states), tried, tuple(failures))


def _described(state: State, rest: list[object]) -> str:
    last = ", ".join(map(str, itertools.islice(rest, 1)))
    return f"after {state.after} operations ({last}), of which {'; '.join(state.lost) or 'none'} did not last"
