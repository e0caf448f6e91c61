"""Time a run by itself: how many updates would it make within its minutes?

    python benchmarks/alone.py --lock LOCK --seconds 20 --out alone.json -- ARGUMENTS OF SACCADE
    python benchmarks/alone.py --lock LOCK --seconds 20 --out alone.json --control CONTROL.py -- ARGUMENTS OF CONTROL.py

`benchmarks/scores.py --alone` calls this. Whatever is timed holds the lock: several runs can prepare their data at
once, but only one of them computes. The program ends when it has been timed.

A run of Saccade is timed for half of the seconds, then validated twice, and timed for the other half, which gives the
speed of updates whose CUDA graph has been captured. The time that is lost to captures and to the first validation, and
that of all validations, count against it. The other program is timed between its optimiser's steps after a third of
the seconds; what it loses before that and in its validations does not count against it.
"""

import argparse
import fcntl
import json
import os
import runpy
import sys
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import torch

from saccade.provenance import provenance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--control", type=Path, help="a program that trains by torch.optim, with the option --minutes")
    parser.add_argument("arguments", nargs="+")
    given = parser.parse_args()
    stopwatch = Stopwatch(given.lock, given.seconds, given.out)
    if given.control is None:
        time_saccade(stopwatch, given.arguments)
    else:
        time_control(stopwatch, given.control, given.arguments)


class Stopwatch:
    def __init__(self, lock: Path, seconds: float, out: Path) -> None:
        self.seconds, self.out = seconds, out
        self._lock = lock.open("w")
        self.start: float | None = None
        self.marks: list[tuple[float, int]] = []  # times, and the updates until then
        self.captures: list[tuple[float, float]] = []  # when each CUDA graph was captured, and for how long
        self.count = 0

    def acquire(self) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def release(self) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def begin(self) -> float:
        """Wait for the lock before the first update → when the first one began."""
        if self.start is None:
            self.acquire()
            self.start = time.perf_counter()
        return self.start

    def mark(self) -> None:
        """Note how many updates are done."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.marks.append((time.perf_counter(), self.count))

    def rate(self) -> float:
        """Updates per second between the last two marks, apart from captures"""
        (before, fewer), (now, more) = self.marks[-2:]
        return (more - fewer) / (now - before - self.captured_since(before))

    def captured_since(self, moment: float) -> float:
        return sum(seconds for when, seconds in self.captures if when > moment)

    def finish(self, record: dict[str, Any]) -> NoReturn:
        record |= {"updates_per_second": round(self.rate(), 3), "provenance": provenance(None)}
        self.out.write_text(json.dumps(record, ensure_ascii=False, default=str), encoding="utf-8")
        os._exit(0)  # the rest of the run is not wanted


def time_saccade(stopwatch: Stopwatch, arguments: list[str]) -> None:
    from saccade import cli
    from saccade.train import automatic, graphs, loop
    from saccade.train.recipe import load_recipe

    measure, submit, capture = automatic.updates_per_second, loop.submit_update, graphs.GradientGraphs._capture

    @wraps(measure)
    def measure_alone(*args: Any, **options: Any) -> float:
        stopwatch.acquire()
        try:
            return measure(*args, **options)
        finally:
            stopwatch.release()

    @wraps(capture)
    def timed_capture(*args: Any) -> Any:
        torch.cuda.synchronize()
        start = time.perf_counter()
        try:
            return capture(*args)
        finally:
            torch.cuda.synchronize()
            stopwatch.captures.append((start, time.perf_counter() - start))

    @wraps(submit)
    def timed(run: Any, batches: Any) -> Any:
        start = stopwatch.begin()
        submitted = submit(run, batches)
        stopwatch.count += 1
        half = stopwatch.seconds / 2
        if not stopwatch.marks and time.perf_counter() - start > half:
            stopwatch.mark()
            for _ in range(2):
                loop.validate(run)
                stopwatch.mark()
        elif stopwatch.marks and time.perf_counter() - stopwatch.marks[-1][0] > half:
            stopwatch.mark()
            report(run, start)
        return submitted

    def report(run: Any, start: float) -> None:
        train, rate = run.training, stopwatch.rate()
        (before, updates), (between, _), (after, _), _ = stopwatch.marks
        validation_seconds = after - between
        lost = max(0.0, before - start - updates / rate) + max(0.0, between - before - validation_seconds)
        lost += stopwatch.captured_since(after)
        per_update = 1 / rate + validation_seconds / train.check_every
        updates = int((60 * train.max_minutes - lost) / per_update)
        stopwatch.finish(
            {
                "updates": min(updates, train.max_steps or updates),
                "lost_seconds": round(lost, 2),
                "validation_seconds": round(validation_seconds, 2),
                "recipe": load_recipe(run.out / "recipe.toml").to_dict(),
            }
        )

    automatic.updates_per_second, loop.submit_update = measure_alone, timed
    graphs.GradientGraphs._capture = timed_capture  # type: ignore[method-assign]
    sys.argv = ["saccade", *arguments]
    cli.main()


def time_control(stopwatch: Stopwatch, program: Path, arguments: list[str]) -> None:
    schedule: Any = torch.optim.lr_scheduler.LambdaLR
    step: Callable[..., None] = schedule.step

    def timed(self: Any, *args: Any) -> None:
        step(self, *args)  # called once by its constructor, before the first update
        passed = time.perf_counter() - stopwatch.begin()
        if not stopwatch.marks and passed > stopwatch.seconds / 3:
            stopwatch.mark()
        elif stopwatch.marks and passed > stopwatch.seconds:
            stopwatch.mark()
            minutes = float(arguments[arguments.index("--minutes") + 1])
            stopwatch.finish({"steps": round(60 * minutes * stopwatch.rate())})
        stopwatch.count += 1

    schedule.step = timed
    sys.argv = [str(program), *arguments]
    runpy.run_path(str(program), run_name="__main__")


if __name__ == "__main__":
    main()
