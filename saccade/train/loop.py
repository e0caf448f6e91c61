"""One training run, from top to bottom."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from saccade.data.batching import repeat_epochs
from saccade.data.prefetching import choose_processes, prefetch_windows
from saccade.errors import UserError
from saccade.models import Seq2Seq, build_model
from saccade.train.checks import Observer, calibrate_best, check, choose_reader, try_average
from saccade.train.dataset import Dataset, load_dataset
from saccade.train.distributed import WorkerLostError, Workers, join_workers
from saccade.train.guidance import AlignmentGuide, load_alignment_guide
from saccade.train.log import Log, SilentLog
from saccade.train.memory import Shape, build_within_memory, fit_to_memory, trial_batch
from saccade.train.optimisers import build_optimiser
from saccade.train.precision import Precision
from saccade.train.recipe import Recipe
from saccade.train.reinforce import refuse_untrainable_attention
from saccade.train.run import TrainingRun, TrainingState, build_batches, restore_state, save_state, seed_worker
from saccade.train.run_folder import clean_up_failed_start, hold_folder, prepare, save_recipe
from saccade.train.speed import choose_threads, compile_forward, restore_thread_count
from saccade.train.update import update
from saccade.train.weights import RunningAverage, freeze, load_weights

_SAVE_SECONDS = 600.0  # at most so much work is lost to a kill, however far apart the checks are
_LESS = "lower train.lr, or set train.precision = 'fp32'"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    folder: Path
    reason: str  # why the run ended
    finished: bool  # False: it was interrupted, and can be resumed
    diverged: bool  # ended by what was not finite; the best model before that, if there was one, is kept
    step: int
    seconds: float
    best: dict[str, Any] | None
    is_rank0: bool  # whether this process is the one that reports

    def error(self) -> UserError:
        """Why a run that diverged failed; rank 0 reports it."""
        error = UserError(f"{self.folder}: {self.reason}")
        error.elsewhere = not self.is_rank0
        return error


def train(
    recipe: Recipe, out: Path, *, resume: bool = False, log: Log | None = None, observe: Observer | None = None
) -> Outcome:
    """Train until the budget is spent or nothing gets better; the best model is in `out`.

    `observe` is called after every check with where the run stands and a translator with the weights that were judged.
    """
    with join_workers() as workers, hold_folder(workers, out), restore_thread_count():
        with clean_up_failed_start(out) if workers.is_rank0 and not resume else nullcontext():
            run = _begin(start(recipe, out, workers, resume=resume, log=log), resume)
        state = run.state
        with run.log as log, catch_interruptions(patiently=workers.count > 1) as interrupted:
            ahead = choose_processes(run.dataset.corpus, recipe.data.processes, workers.neighbours)
            with prefetch_windows(run.batches, ahead):
                reason, finished = _updates(run, interrupted, observe)
            if finished:
                if state.checked != state.step:
                    check(run, observe)
                if state.best is not None:
                    try_average(run)
                    calibrate_best(run)
                    choose_reader(run)
            else:
                save_state(run)
            diverged = run.diverged
            if finished and state.best is None:
                diverged, reason = True, f"no check had a finite loss: {_LESS}"
            if diverged:
                log.say(
                    "the run diverged; " + (f"the best model so far is in {out}" if state.best else "no model is kept")
                )
            else:
                log.say(f"{reason}; the model is in {out}" if finished else f"{reason}; go on with --resume")
    return Outcome(
        folder=out,
        reason=reason,
        finished=finished,
        diverged=diverged,
        step=state.step,
        seconds=state.seconds,
        best=state.best,
        is_rank0=workers.is_rank0,
    )


def start(
    recipe: Recipe, out: Path, workers: Workers | None = None, *, resume: bool = False, log: Log | None = None
) -> TrainingRun:
    """All that a run works on, before its first step."""
    training, workers = recipe.train, workers or Workers()
    log = (log or Log(out, tensorboard=training.tensorboard)) if workers.is_rank0 else SilentLog(out)
    device = workers.rank0_first(lambda: workers.device(training.device))
    workers.connect(device)

    def prepared() -> tuple[Dataset, Seq2Seq[Any, Any], AlignmentGuide | None]:
        if not (out / "recipe.toml").exists():
            raise UserError(
                f"{out.absolute()}: worker {workers.rank + 1} of {workers.count} does not find what the first one has "
                "put there; give an --out on a file system that all machines share"
            )
        dataset = load_dataset(recipe.data, out, training.seed)
        torch.manual_seed(training.seed)
        model = _model(recipe, dataset, begun=(out / "training").is_dir()).to(device)
        return dataset, model, load_alignment_guide(recipe, model, dataset)

    precision = workers.rank0_first(lambda: Precision(training.precision, device))
    recipe = workers.broadcast(lambda: prepare(out, recipe, resume))
    if isinstance(recipe.train.threads, int):
        torch.set_num_threads(recipe.train.threads)
    dataset, model, guide = workers.rank0_first(prepared)
    workers.share_weights(model)
    return TrainingRun(
        recipe=recipe,
        out=out,
        dataset=dataset,
        device=device,
        workers=workers,
        model=model,
        optimiser=build_optimiser(training, model),
        precision=precision,
        guide=guide,
        mean=RunningAverage(model, training.ema) if training.ema else None,
        batches=build_batches(dataset, recipe),
        log=log,
        state=TrainingState(),
    )


def _begin(run: TrainingRun, resume: bool) -> TrainingRun:
    """Where the run stopped, or at its beginning."""
    workers, log = run.workers, run.log
    for note in run.dataset.notes:
        log.say(note)
    parameters = sum(p.numel() for p in run.model.parameters())
    others = f", one of {workers.count} workers" if workers.count > 1 else ""
    log.say(f"{run.recipe.model}: {parameters:,} parameters, on {run.device}{others}")
    tried, term = trial_batch(run, Shape(source=2, target=2), 1), run.objective().reinforce
    workers.rank0_first(lambda: refuse_untrainable_attention(run.model, tried, term))
    if resume and workers.rank0_first(lambda: restore_state(run)):
        workers.broadcast(lambda: save_recipe(run.out, run.recipe))
        log.truncate_after(run.state.step, averaged=run.state.averaged == run.state.step)
        log.say(f"resumed at step {run.state.step:,}")
    else:
        run = choose_threads(fit_to_memory(run))
        log.truncate_after(-1)
        if not workers.is_rank0:
            seed_worker(run)
    if run.recipe.train.compile and (reason := compile_forward(run.model, run.device)) is not None:
        log.say(reason)
    return run


def _model(recipe: Recipe, dataset: Dataset, *, begun: bool) -> Seq2Seq[Any, Any]:
    sides, training = dataset.vocabularies, recipe.train
    if getattr(recipe.settings, "tie", None) == "all" and not sides.joint:  # also where both happen to have one size
        raise UserError("model.tie is 'all', but the two sides have a vocabulary each: set model.tie=target")
    model = build_within_memory(
        lambda: build_model(recipe.model, recipe.settings, len(sides.source), len(sides.target))
    )
    if training.init_from is not None and not begun:
        load_weights(model, Path(training.init_from), sides)
    freeze(model, training.freeze)
    return model


def _updates(run: TrainingRun, interrupted: list[str], observe: Observer | None) -> tuple[str, bool]:
    """Update after update, with notes, checks and saves between them, until there is a reason to end → that reason, and
    whether the run is finished."""
    training, state, log = run.recipe.train, run.state, run.log
    stream = repeat_epochs(run.batches)
    noted, saved = time.monotonic(), state.seconds
    before = saved - noted  # on the clock
    stop: str | None = None
    while (reason := _over(run, stop)) is None:
        done = run.progress()
        rate = run.rate()
        for group in run.optimiser.param_groups:
            group["lr"] = rate
        try:
            loss, tokens = update(run, list(islice(stream, training.accumulate)))
        except WorkerLostError:
            raise
        except UserError:  # a pair that does not fit: all that came before it is kept
            save_state(run)
            raise
        state.step += 1
        if math.isfinite(loss):
            state.loss, state.tokens, state.bad = state.loss + loss, state.tokens + tokens, 0
            if run.mean is not None:
                run.mean.update(run.model)
        else:
            state.skipped, state.bad = state.skipped + 1, state.bad + 1
            log.say(f"step {state.step:,}: the loss is not finite; the update was skipped")
        stop = _agree(run, before + time.monotonic(), interrupted)

        if state.step % max(1, training.check_every // 10) == 0 and state.tokens:
            now, (noted, speed) = state.loss / state.tokens, _speed(noted, state.tokens)
            log.note(step=state.step, epoch=run.batches.epoch, loss=now, rate=rate)
            log.progress(
                step=state.step,
                epoch=run.batches.epoch,
                loss=now,
                rate=rate,
                speed=speed,
                done=done,
                seconds=state.seconds,
            )
            state.loss, state.tokens = 0.0, 0
        if state.step % training.check_every == 0:
            check(run, observe)
            stop = _agree(run, before + time.monotonic(), interrupted)
            noted, saved = time.monotonic(), state.seconds
        elif state.seconds - saved > _SAVE_SECONDS:
            save_state(run)
            saved = state.seconds
    return reason, stop is None


def _agree(run: TrainingRun, seconds: float, interrupted: list[str]) -> str | None:
    """The leader's clock is everybody's, and what interrupts one worker interrupts all: by what, if anything."""
    told = run.workers.gather((seconds, interrupted[:1]))
    run.state.seconds = told[0][0]
    return next((name for _, names in told for name in names), None)


def _over(run: TrainingRun, stop: str | None) -> str | None:
    """Why the run is over, or None."""
    training, state = run.recipe.train, run.state
    if stop is not None:
        return f"interrupted by {stop} at step {state.step:,}"
    if run.diverged:
        return f"{state.bad} updates in a row were not finite: {_LESS}"
    if state.stale >= training.patience:
        return f"no better score in {training.patience} checks"
    if training.schedule == "plateau" and training.lr * training.decay**state.falls < training.least_lr:
        return f"the rate fell below train.least_lr = {training.least_lr:g}"
    if run.progress() >= 1:
        return "the budget is spent"
    return None


def _speed(since: float, tokens: int) -> tuple[float, float]:
    now = time.monotonic()
    return now, tokens / max(1e-9, now - since)


@contextmanager
def catch_interruptions(*, patiently: bool = False) -> Iterator[list[str]]:
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
