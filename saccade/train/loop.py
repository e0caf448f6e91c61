"""The training loop, from top to bottom. It knows a learner, and nothing of what the learner learns."""

import copy
import math
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn

from saccade.device import keep_freed_memory, without_cudnn_attention
from saccade.errors import UserError
from saccade.train.distributed import WorkerLostError, Workers, join_workers
from saccade.train.graphs import GradientGraphs
from saccade.train.learner import Learner, TrainingState
from saccade.train.log import Log, SilentLog
from saccade.train.optimisation import Precision, RunningAverage, build_optimiser, freeze, learning_rate, mean_weights
from saccade.train.recipe import RECIPE
from saccade.train.resources import choose_threads, compile_forward, fit_to_memory, restore_thread_count
from saccade.train.run import TrainingRun, claim_folder, prepare_folder, restore_run, save_run, seed_worker
from saccade.train.training_options import Training
from saccade.train.update import PendingUpdate, fast_paths, settle, submit_update, updates_in_flight, why_not_captured

_SAVE_SECONDS = 600.0  # at most so much work is lost to a kill, however far apart the validations are
_ADVICE = "lower train.lr, or set train.precision = 'fp32'"

BuildLearner = Callable[[Training], Learner[Any]]
Observer = Callable[[TrainingState, Any], None]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    folder: Path
    reason: str  # why the run ended
    finished: bool  # False: it was interrupted, and can be resumed
    diverged: bool  # losses were no longer finite; the best model before that, if there is one, is saved
    step: int
    seconds: float
    best: dict[str, Any] | None  # the scores of the best validation
    is_rank0: bool  # whether this process is the one that reports

    def error(self) -> UserError:
        """Why a run that diverged failed; rank 0 reports it."""
        return UserError(f"{self.folder}: {self.reason}", elsewhere=not self.is_rank0)


def train_learner(
    build: BuildLearner,
    training: Training,
    out: Path,
    *,
    tables: Mapping[str, Any] | None = None,
    resume: bool = False,
    log: Log | None = None,
    observe: Observer | None = None,
    explain: bool = False,
) -> Outcome:
    """Train until the budget is spent or nothing improves; the best model is in `out`.

    `build` makes the learner from the training settings, some of which may still be "auto". `tables` are written to
    recipe.toml beside `[train]`. `observe` is called after each validation with the training state and the learner's
    predictor with the weights that were judged. `explain` lists the fast paths in the log.
    """
    with join_workers() as workers, claim_folder(workers, out), restore_thread_count(), without_cudnn_attention():
        run = start_run(build, training, out, workers, tables=tables, resume=resume, log=log)
        run = _restore_or_begin(run, resume)
        for path in fast_paths(run) if explain else ():
            run.log.say(str(path))
        state = run.state
        with run.log, catch_interruptions(patient=workers.count > 1) as interrupted:
            with run.learner.prefetch(workers):
                reason, finished = _update_until_over(run, interrupted, observe)
            if finished:
                _finish(run, observe)
            else:
                save_run(run)
            diverged = run.diverged
            if finished and state.best is None:
                diverged, reason = True, f"no validation had a finite loss: {_ADVICE}"
            if diverged:
                saved = f"the best model so far is in {out}" if state.best else "no model is saved"
                run.log.say(f"the run diverged; {saved}")
            else:
                run.log.say(f"{reason}; " + (f"the model is in {out}" if finished else "continue with --resume"))
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


def start_run(
    build: BuildLearner,
    training: Training,
    out: Path,
    workers: Workers | None = None,
    *,
    tables: Mapping[str, Any] | None = None,
    resume: bool = False,
    log: Log | None = None,
) -> TrainingRun:
    """The run before its first step."""
    workers, tables = workers or Workers(), dict(tables or {})
    log = (log or Log(out, tensorboard=training.tensorboard)) if workers.is_rank0 else SilentLog(out)
    device = workers.connect(training.device)
    precision = workers.rank0_first(lambda: Precision(training.precision, device))
    training = workers.broadcast(lambda: prepare_folder(out, tables, training, resume=resume))
    torch.set_num_threads(training.threads if isinstance(training.threads, int) else torch.get_num_threads())
    keep_freed_memory()

    def build_learner() -> Learner[Any]:
        if not (out / RECIPE).exists():
            raise UserError(
                f"{out.absolute()}: worker {workers.rank + 1} of {workers.count} does not find the files of rank 0 "
                "there; give an --out on a file system that all machines share"
            )
        torch.manual_seed(training.seed)
        learner = build(training)
        freeze(learner.model, training.freeze)
        learner.model.to(device)
        return learner

    learner = workers.rank0_first(build_learner)
    model = learner.model
    workers.share_weights(model)
    return TrainingRun(
        learner=learner,
        training=training,
        tables=tables,
        out=out,
        device=device,
        workers=workers,
        model=model,
        optimiser=build_optimiser(training, model),
        precision=precision,
        average=RunningAverage(model, training.ema) if training.ema else None,
        log=log,
        state=TrainingState(),
    )


def _restore_or_begin(run: TrainingRun, resume: bool) -> TrainingRun:
    workers, log, state = run.workers, run.log, run.state
    for note in run.learner.notes:
        log.say(note)
    parameters = sum(p.numel() for p in run.model.parameters())
    others = f", one of {workers.count} workers" if workers.count > 1 else ""
    log.say(f"{run.learner.name}: {parameters:,} parameters, on {run.device}{others}")
    if resume and workers.rank0_first(lambda: restore_run(run)):
        run = run.with_training()
        log.truncate_after(state.step, averaged=state.averaged == state.step)
        log.say(f"resumed at step {state.step:,}")
    else:
        run = choose_threads(fit_to_memory(run))
        log.truncate_after(-1)
        if not workers.is_rank0:
            seed_worker(run)
    if run.training.compile and (reason := compile_forward(run.model, run.device)) is not None:
        log.say(reason)
    if why_not_captured(run) is None:
        run = replace(run, graphs=GradientGraphs(run.model, run.device, run.precision))
    return run


def _update_until_over(run: TrainingRun, interrupted: list[str], observe: Observer | None) -> tuple[str, bool]:
    """Update, with log entries, validations and saves in between → why the run ended, and whether it is finished."""
    training, state, log, batches = run.training, run.state, run.log, run.learner.batches
    stream = chain.from_iterable(repeat(batches))  # epoch after epoch
    logged, saved = time.monotonic(), state.seconds
    start = saved - logged  # the clock's reading at the start of the run, negative
    interruption: str | None = None
    pending, most_pending = deque[PendingUpdate](), updates_in_flight(run)
    while (reason := _reason_to_end(run, interruption)) is None:
        done = run.progress
        rate = learning_rate(training, state.step, done, batches.epochs, state.falls)
        for group in run.optimiser.param_groups:
            group["lr"] = rate
        try:
            pending.append(submit_update(run, list(islice(stream, training.accumulate))))
        except UserError as error:  # a row that does not fit in memory: everything before it is kept
            if not isinstance(error, WorkerLostError):
                _settle(run, pending)
                save_run(run)
            raise
        state.step += 1
        if run.average is not None:
            run.average.update(run.model, pending[-1].went_well)
        _settle(run, pending, keep=most_pending)
        interruption = _agree(run, start + time.monotonic(), interrupted)

        is_check, is_save = state.step % training.check_every == 0, state.seconds - saved > _SAVE_SECONDS
        is_entry = state.step % max(1, training.check_every // 10) == 0
        if is_entry or is_check or is_save:
            _settle(run, pending)
        if is_entry and state.tokens:
            now, mean = time.monotonic(), state.loss / state.tokens
            speed = state.tokens / max(1e-9, now - logged)
            log.note(step=state.step, epoch=batches.epoch, loss=mean, rate=rate)
            numbers = {"loss": mean, "rate": rate, "speed": speed, "done": done}
            log.progress(state, epoch=batches.epoch, perplexity=run.learner.is_likelihood, **numbers)
            logged, state.loss, state.tokens = now, 0.0, 0
        if is_check:
            validate(run, observe)
            interruption = _agree(run, start + time.monotonic(), interrupted)
            logged, saved = time.monotonic(), state.seconds
        elif is_save:
            save_run(run)
            saved = state.seconds
    _settle(run, pending)
    return reason, interruption is None


def _settle(run: TrainingRun, pending: deque[PendingUpdate], *, keep: int = 0) -> None:
    """Wait for all but the last `keep` updates, and count their losses."""
    state = run.state
    while len(pending) > keep:
        submitted = pending.popleft()
        loss = settle(run, submitted)
        if math.isfinite(loss):
            state.loss, state.tokens, state.bad = state.loss + loss, state.tokens + submitted.tokens, 0
        else:
            state.skipped, state.bad = state.skipped + 1, state.bad + 1
            run.log.say(f"step {submitted.step:,}: the loss is not finite; the update was skipped")


def _agree(run: TrainingRun, seconds: float, interrupted: list[str]) -> str | None:
    """All workers use the clock of rank 0, and a signal to one interrupts all → the signal's name, or None."""
    reports = run.workers.gather((seconds, interrupted[:1]))
    run.state.seconds = reports[0][0]
    return next((name for _, names in reports for name in names), None)


def _reason_to_end(run: TrainingRun, interruption: str | None) -> str | None:
    training, state = run.training, run.state
    fell = training.schedule == "plateau" and training.lr * training.decay**state.falls < training.least_lr
    reasons = (
        (interruption is not None, f"interrupted by {interruption} at step {state.step:,}"),
        (run.diverged, f"{state.bad} updates in a row were not finite: {_ADVICE}"),
        (state.stale >= training.patience, f"no better score in {training.patience} validations"),
        (fell, f"the learning rate fell below train.least_lr = {training.least_lr:g}"),
        (run.progress >= 1, "the budget is spent"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def _finish(run: TrainingRun, observe: Observer | None) -> None:
    state = run.state
    if state.checked != state.step:
        validate(run, observe)
    if state.best is not None:
        try_average(run)
        for line in run.workers.broadcast(lambda: run.learner.finish(run.out)):
            run.log.say(line)


def validate(run: TrainingRun, observe: Observer | None = None) -> None:
    """Measure the model, or the running average of its weights; save the run and, if it is the best, the model."""
    training, state, model = run.training, run.state, run.model
    if run.average is not None:
        model = _with_weights(run, run.average.weights)
    if training.average:
        weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
        state.snapshots = [*state.snapshots, weights][-training.average :]
    state.checked = state.step
    _judge_and_save(run, model)
    if observe is not None and run.workers.is_rank0:
        observe(state, run.learner.predictor(model))


def try_average(run: TrainingRun) -> None:
    """Judge the mean of the last validations' weights, and save it if it is the best."""
    state = run.state
    if len(state.snapshots) > 1 and state.averaged != state.step:
        state.averaged = state.step
        _judge_and_save(run, _with_weights(run, mean_weights(state.snapshots)), averaged=len(state.snapshots))


def _with_weights(run: TrainingRun, weights: dict[str, Any]) -> nn.Module:
    model = copy.deepcopy(run.model)
    model.load_state_dict(weights)
    return model


def _judge_and_save(run: TrainingRun, model: nn.Module, averaged: int | None = None) -> None:
    """`averaged`: the model has the mean weights of so many validations."""
    state, judge = run.state, run.learner.judge
    result = run.learner.validate(model, run.workers)
    scores, which = result.scores, {} if averaged is None else {"averaged": averaged}
    better = judge.prefers(scores, state.best)
    if better:
        state.best = {"step": state.step, **which, **scores}
    if averaged is None:
        state.stale = 0 if better else state.stale + 1
        _watch_for_plateau(run, scores["loss"])
    metrics = {"valid_loss" if name == "loss" else name: value for name, value in scores.items()}
    run.log.note(step=state.step, epoch=run.learner.batches.epoch, **metrics, best=better, **which)
    run.log.validated(state, result, judge, better=better, averaged=averaged)
    save_run(run, model if better else None)


def _watch_for_plateau(run: TrainingRun, loss: float) -> None:
    training, state = run.training, run.state
    state.flat = 0 if loss < state.lowest else state.flat + 1
    state.lowest = min(state.lowest, loss)
    if training.schedule == "plateau" and state.flat >= training.decay_patience:
        state.flat, state.falls = 0, state.falls + 1
        run.log.say(
            f"step {state.step:,}: the validation loss no longer falls; the learning rate does, × {training.decay:g}"
        )


@contextmanager
def catch_interruptions(*, patient: bool = False) -> Iterator[list[str]]:
    """While open, the first Ctrl-C or TERM adds its name to the list. A second one interrupts as usual, unless
    `patient`: a worker of torchrun gets one Ctrl-C twice, from the terminal and from torchrun, which itself ends
    workers that linger."""
    names: list[str] = []

    def note(number: int, frame: FrameType | None) -> None:
        if names and not patient:
            raise KeyboardInterrupt
        names.append(signal.Signals(number).name)

    try:
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread
        before = {}
    try:
        yield names
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
