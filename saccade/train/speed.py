"""The speed of a run on this machine: updates per second, the number of threads, and torch.compile."""

import copy
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from statistics import median
from typing import Any

import torch

from saccade.data.batching import Batch, repeat_epochs
from saccade.layers.recurrent import RecurrentUnit
from saccade.models import Seq2Seq, build_model
from saccade.text import EOS
from saccade.train.distributed import Workers
from saccade.train.log import SilentLog
from saccade.train.losses import Objective, batch_loss
from saccade.train.optimisers import build_optimiser
from saccade.train.precision import Precision
from saccade.train.recipe import Training
from saccade.train.run import TrainingRun
from saccade.train.run_folder import save_recipe
from saccade.train.update import update

_MEASURED = 5  # updates
_GAIN = 0.9  # all threads are used only if they need at most this share of the time: a single one disturbs nobody


def first_updates(run: TrainingRun, count: int = _MEASURED) -> list[list[Batch]]:
    """The batches of each of the next updates; the run's position in the data stays where it is."""
    position = run.batches.state()
    stream = repeat_epochs(run.batches)
    try:
        return [list(islice(stream, run.recipe.train.accumulate)) for _ in range(count)]
    finally:
        run.batches.restore(position)


def seconds_per_update(run: TrainingRun, updates: Sequence[Sequence[Batch]]) -> float:
    """The median over `updates`, each given by its batches, made on a copy of the run.

    The run itself stays as it is: weights, optimiser, random state, counts and log. A worker measures by itself, with
    its own share of the rows.
    """
    rehearsal = _copied(run)
    shares = [[rows for batch in batches if (rows := run.workers.rows(batch)) is not None] for batches in updates]
    with torch.random.fork_rng([run.device] if run.device.type == "cuda" else []):
        update(rehearsal, shares[0])  # slower than the others: it allocates the optimiser's state
        return median(_seconds(rehearsal, share) for share in shares)


def _copied(run: TrainingRun) -> TrainingRun:
    model, precision, mean = copy.deepcopy((run.model, run.precision, run.mean))
    optimiser = build_optimiser(run.recipe.train, model)
    optimiser.load_state_dict(copy.deepcopy(run.optimiser.state_dict()))  # loading alone would share its tensors
    return replace(
        run,
        model=model,
        optimiser=optimiser,
        precision=precision,
        mean=mean,
        state=copy.deepcopy(run.state),
        workers=Workers(),
        log=SilentLog(run.out),
    )


def _seconds(run: TrainingRun, batches: Sequence[Batch]) -> float:
    began = time.perf_counter()
    update(run, batches)  # which waits for a GPU, since it returns the loss as a number
    if run.mean is not None:
        run.mean.update(run.model)
    return time.perf_counter() - began


@contextmanager
def restore_thread_count() -> Iterator[None]:
    """What a run sets for itself does not outlive it."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_threads(run: TrainingRun) -> TrainingRun:
    """With `train.threads` a number: one or all, whichever is faster now.

    Sums may differ in their last bits with the number of threads, so it is kept with the recipe: a resumed run has the
    same. Several workers share the cores already and are not measured; a GPU does not depend on it.
    """
    workers, available = run.workers, torch.get_num_threads()
    if run.recipe.train.threads != "auto" or run.device.type != "cpu":
        return run
    threads, reason = available, "as many as there are"
    if workers.count > 1:
        threads, reason = workers.broadcast(torch.get_num_threads), f"for each of {workers.count} workers"
    elif available > 1:
        threads, reason = _faster(run, available)
    torch.set_num_threads(threads)
    run = replace(run, recipe=replace(run.recipe, train=replace(run.recipe.train, threads=threads)))
    workers.broadcast(lambda: save_recipe(run.out, run.recipe))
    run.log.say(f"threads: {threads}, {reason}")
    return run


def _faster(run: TrainingRun, available: int) -> tuple[int, str]:
    """1 or `available`, and why."""
    updates, seconds = first_updates(run), {}
    for threads in (1, available):
        torch.set_num_threads(threads)
        seconds[threads] = seconds_per_update(run, updates)
    chosen = available if seconds[available] <= _GAIN * seconds[1] else 1
    told = ", ".join(f"{1000 * taken:.0f} ms with {threads}" for threads, taken in seconds.items())
    return chosen, f"by the time that an update takes: {told}"


def updates_per_second(
    model: str, settings: Any, train: Training, *, device: torch.device, vocabulary: int, length: int, seconds: float
) -> float:
    """Of whole updates on batches of `train.tokens` random pieces in texts of `length`, timed for about `seconds`.

    The first update, which also sets up what later ones reuse, is not counted. The caller's random numbers are left
    alone.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        net = build_model(model, settings, vocabulary, vocabulary).to(device).train()
        optimiser, precision = build_optimiser(train, net), Precision(train.precision, device)
        batch = _random_batch(max(1, train.batch_tokens // length), length, vocabulary).to(device)

        def update() -> None:
            with precision.autocast():
                lowered, _ = batch_loss(net, batch, Objective(smoothing=train.smoothing))
            precision.backward(lowered / batch.target_out.numel())
            precision.step(optimiser, net.parameters(), train.clip, finite=True)  # waits for the device
            optimiser.zero_grad(set_to_none=True)

        update()
        begun, count = time.perf_counter(), 0
        while count == 0 or time.perf_counter() - begun < seconds:
            update()
            count += 1
        return count / (time.perf_counter() - begun)


def _random_batch(pairs: int, length: int, vocabulary: int) -> Batch:
    texts = torch.randint(EOS + 1, vocabulary, (2, pairs, max(1, length - 1))).tolist()  # and one id for the end
    return Batch.of(texts[0], texts[1], range(pairs))


def compile_forward(model: Seq2Seq[Any, Any], device: torch.device) -> str | None:
    """In place, so that names of weights stay, for batches of any size; or why the model is trained as it is."""
    if any(isinstance(module, RecurrentUnit) for module in model.modules()):
        return "train.compile: a recurrent model would be compiled anew for every length; it is trained as it is"
    try:
        torch.compile(_little)(torch.ones(64, device=device))
    except Exception as error:  # whatever a compiler that is missing or broken makes of it
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return f"train.compile: no compiler works here ({reason[:120]}); the model is trained as it is"
    model.compile(dynamic=True)
    return None


def _little(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.sin() + 1
