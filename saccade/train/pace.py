"""How fast a run is on this machine, measured on its first batches, and how many threads make it fastest."""

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from statistics import median

import torch

from saccade.data.batching import Batch, repeat_epochs
from saccade.train.distributed import Workers
from saccade.train.log import Unheard
from saccade.train.optimisers import make_optimiser
from saccade.train.run import Run
from saccade.train.starting import keep_recipe
from saccade.train.update import update

_MEASURED = 5  # updates
_GAIN = 0.9  # all threads are used only if they need at most this share of the time: a single one disturbs nobody


def first_updates(run: Run, count: int = _MEASURED) -> list[list[Batch]]:
    """The batches of each of the next updates; the run's position in the data stays where it is."""
    position = run.batches.state()
    stream = repeat_epochs(run.batches)
    try:
        return [list(islice(stream, run.recipe.train.accumulate)) for _ in range(count)]
    finally:
        run.batches.restore(position)


def seconds_per_update(run: Run, updates: Sequence[Sequence[Batch]]) -> float:
    """The median over `updates`, each given by its batches, made on a copy of the run.

    The run itself stays as it is: weights, optimiser, random state, counts and log. A worker measures by itself, with
    its own share of the rows.
    """
    rehearsal = _copied(run)
    shares = [[rows for batch in batches if (rows := run.workers.rows(batch)) is not None] for batches in updates]
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        update(rehearsal, shares[0])  # slower than the others: it allocates the optimiser's state
        return median(_seconds(rehearsal, share) for share in shares)


def _copied(run: Run) -> Run:
    model, precision, mean = copy.deepcopy((run.model, run.precision, run.mean))
    optimiser = make_optimiser(run.recipe.train, model)
    optimiser.load_state_dict(copy.deepcopy(run.optimiser.state_dict()))  # loading alone would share its tensors
    return replace(
        run,
        model=model,
        optimiser=optimiser,
        precision=precision,
        mean=mean,
        standing=copy.deepcopy(run.standing),
        workers=Workers(),
        log=Unheard(run.out),
    )


def _seconds(run: Run, batches: Sequence[Batch]) -> float:
    began = time.perf_counter()
    update(run, batches)  # which waits for a GPU, since it returns the loss as a number
    if run.mean is not None:
        run.mean.update(run.model)
    return time.perf_counter() - began


@contextmanager
def keeping_thread_count() -> Iterator[None]:
    """What a run sets for itself does not outlive it."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def with_threads(run: Run) -> Run:
    """With `train.threads` a number: one or all, whichever is faster now.

    Sums may differ in their last bits with the number of threads, so it is kept with the recipe: a resumed run has the
    same. Several workers share the cores already and are not measured; a GPU does not depend on it.
    """
    workers, available = run.workers, torch.get_num_threads()
    if run.recipe.train.threads != "auto" or run.device.type != "cpu":
        return run
    threads, reason = available, "as many as there are"
    if workers.count > 1:
        threads, reason = workers.told(torch.get_num_threads), f"for each of {workers.count} workers"
    elif available > 1:
        threads, reason = _faster(run, available)
    torch.set_num_threads(threads)
    run = replace(run, recipe=replace(run.recipe, train=replace(run.recipe.train, threads=threads)))
    workers.told(lambda: keep_recipe(run.out, run.recipe))
    run.log.say(f"threads: {threads}, {reason}")
    return run


def _faster(run: Run, available: int) -> tuple[int, str]:
    """1 or `available`, and why."""
    updates, seconds = first_updates(run), {}
    for threads in (1, available):
        torch.set_num_threads(threads)
        seconds[threads] = seconds_per_update(run, updates)
    chosen = available if seconds[available] <= _GAIN * seconds[1] else 1
    told = ", ".join(f"{1000 * taken:.0f} ms with {threads}" for threads, taken in seconds.items())
    return chosen, f"by the time that an update takes: {told}"
