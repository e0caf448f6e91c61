"""The speed of a run on this machine: the number of threads, and torch.compile."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, repeat
from statistics import median
from typing import Any

import torch
from torch import nn

from saccade.layers.recurrent import RecurrentUnit
from saccade.train.log import SilentLog
from saccade.train.run import TrainingRun
from saccade.train.update import update

_MEASURED = 5  # updates
_GAIN = 0.9  # all threads are used only if they need at most this share of the time: a single one disturbs nobody


def first_updates(run: TrainingRun, count: int = _MEASURED) -> list[list[Any]]:
    """The batches of each of the next updates; the run's position in the data stays where it is."""
    batches = run.learner.batches
    position = batches.state()
    stream = chain.from_iterable(repeat(batches))
    try:
        return [list(islice(stream, run.training.accumulate)) for _ in range(count)]
    finally:
        batches.restore(position)


def seconds_per_update(run: TrainingRun, updates: Sequence[Sequence[Any]]) -> float:
    """The median over `updates`, each given by its batches, on a copy of the run: the run itself does not change. Each
    worker measures alone, with its share of the rows."""
    rehearsal = run.rehearsal(SilentLog(run.out))
    shares = [[rows for batch in batches if (rows := run.workers.rows(batch)) is not None] for batches in updates]
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        update(rehearsal, shares[0])  # slower than the others: it allocates the optimiser's state
        return median(_seconds(rehearsal, share) for share in shares)


def _seconds(run: TrainingRun, batches: Sequence[Any]) -> float:
    began = time.perf_counter()
    update(run, batches)  # waits for a GPU, since it returns the loss as a number
    if run.average is not None:
        run.average.update(run.model)
    return time.perf_counter() - began


@contextmanager
def restore_thread_count() -> Iterator[None]:
    """On leaving, the process has as many threads as before."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(run: TrainingRun) -> TrainingRun:
    """The run with `train.threads` as a number: one or all, whichever is faster now.

    The last bits of a sum may depend on the number of threads, so it is saved in the recipe, for when the run is
    resumed. Several workers share the cores already and are not measured; a GPU does not depend on it.
    """
    workers, available = run.workers, torch.get_num_threads()
    if run.training.threads != "auto" or run.device.type != "cpu":
        return run
    threads, reason = available, "as many as there are"
    if workers.count > 1:
        threads, reason = workers.broadcast(torch.get_num_threads), f"for each of {workers.count} workers"
    elif available > 1:
        threads, reason = _faster_threads(run, available)
    torch.set_num_threads(threads)
    run.log.say(f"threads: {threads}, {reason}")
    return run.with_training(threads=threads)


def _faster_threads(run: TrainingRun, available: int) -> tuple[int, str]:
    """1 or `available`, and why."""
    updates, seconds = first_updates(run), {}
    for threads in (1, available):
        torch.set_num_threads(threads)
        seconds[threads] = seconds_per_update(run, updates)
    threads = available if seconds[available] <= _GAIN * seconds[1] else 1
    times = ", ".join(f"{1000 * taken:.0f} ms with {count}" for count, taken in seconds.items())
    return threads, f"by the time of an update: {times}"


def compile_forward(model: nn.Module, device: torch.device) -> str | None:
    """Compile the model in place, for batches of any size → why that was not done, or None."""
    if any(isinstance(module, RecurrentUnit) for module in model.modules()):
        return "train.compile: a recurrent model would be compiled again for every length; it is trained uncompiled"
    try:
        torch.compile(_small_function)(torch.ones(64, device=device))
    except Exception as error:  # whatever a missing or broken compiler raises
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return f"train.compile: no compiler works here ({reason[:120]}); the model is trained uncompiled"
    model.compile(dynamic=True)
    return None


def _small_function(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.sin() + 1
