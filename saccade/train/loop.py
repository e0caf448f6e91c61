"""One training run, from top to bottom."""

import math
import time
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from saccade.data.batching import repeat_epochs
from saccade.data.prefetching import choose_processes, prefetch_windows
from saccade.errors import UserError
from saccade.models import Seq2Seq, build_model
from saccade.train.averaging import RunningMean
from saccade.train.checks import Observer, calibrate_best, check, choose_reader, try_average
from saccade.train.compiling import compile_forward
from saccade.train.distributed import WorkerLostError, Workers, working_together
from saccade.train.fine_tuning import freeze, take_weights
from saccade.train.guidance import Guide, load_guide
from saccade.train.interruption import noting_interruptions
from saccade.train.log import Log, Unheard
from saccade.train.material import Material, load_material
from saccade.train.memory import Shape, batch_of, built_within_memory, with_room
from saccade.train.optimisers import make_optimiser
from saccade.train.pace import keeping_thread_count, with_threads
from saccade.train.precision import Precision
from saccade.train.recipe import Recipe
from saccade.train.reinforce import refuse_what_cannot_learn
from saccade.train.run import Run, Standing, batches_of
from saccade.train.standing import restore_standing, save_standing, seed_worker
from saccade.train.starting import held_by, keep_recipe, leaving_no_false_start, prepare
from saccade.train.update import update

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


def train(
    recipe: Recipe, out: Path, *, resume: bool = False, log: Log | None = None, observe: Observer | None = None
) -> Outcome:
    """Train until the budget is spent or nothing gets better; the best model is in `out`.

    `observe` is called after every check with where the run stands and a translator with the weights that were judged.
    """
    with working_together() as workers, held_by(workers, out), keeping_thread_count():
        with leaving_no_false_start(out) if workers.leads and not resume else nullcontext():
            run = _begin(start(recipe, out, workers, resume=resume, log=log), resume)
        standing = run.standing
        with run.log as log, noting_interruptions(patiently=workers.count > 1) as interrupted:
            ahead = choose_processes(run.material.corpus, recipe.data.processes, workers.neighbours)
            with prefetch_windows(run.batches, ahead):
                reason, finished = _updates(run, interrupted, observe)
            if finished:
                if standing.checked != standing.step:
                    check(run, observe)
                if standing.best is not None:
                    try_average(run)
                    calibrate_best(run)
                    choose_reader(run)
            else:
                save_standing(run)
            diverged = run.diverged
            if finished and standing.best is None:
                diverged, reason = True, f"no check had a finite loss: {_LESS}"
            if diverged:
                log.say(
                    "the run diverged; "
                    + (f"the best model so far is in {out}" if standing.best else "no model is kept")
                )
            else:
                log.say(f"{reason}; the model is in {out}" if finished else f"{reason}; go on with --resume")
    return Outcome(
        folder=out,
        reason=reason,
        finished=finished,
        diverged=diverged,
        step=standing.step,
        seconds=standing.seconds,
        best=standing.best,
    )


def start(
    recipe: Recipe, out: Path, workers: Workers | None = None, *, resume: bool = False, log: Log | None = None
) -> Run:
    """All that a run works on, before its first step."""
    how, workers = recipe.train, workers or Workers()
    log = (log or Log(out, tensorboard=how.tensorboard)) if workers.leads else Unheard(out)
    device = workers.in_turn(lambda: workers.device(how.device))
    workers.connect(device)

    def prepared() -> tuple[Material, Seq2Seq[Any, Any], Guide | None]:
        if not (out / "recipe.toml").exists():
            raise UserError(
                f"{out.absolute()}: worker {workers.rank + 1} of {workers.count} does not find what the first one has "
                "put there; give an --out on a file system that all machines share"
            )
        material = load_material(recipe.data, out, how.seed)
        torch.manual_seed(how.seed)
        model = _model(recipe, material, begun=(out / "training").is_dir()).to(device)
        return material, model, load_guide(recipe, model, material)

    precision = workers.in_turn(lambda: Precision(how.precision, device))
    recipe = workers.told(lambda: prepare(out, recipe, resume))
    if isinstance(recipe.train.threads, int):
        torch.set_num_threads(recipe.train.threads)
    material, model, guide = workers.in_turn(prepared)
    workers.share_weights(model)
    return Run(
        recipe=recipe,
        out=out,
        material=material,
        device=device,
        workers=workers,
        model=model,
        optimiser=make_optimiser(how, model),
        precision=precision,
        guide=guide,
        mean=RunningMean(model, how.ema) if how.ema else None,
        batches=batches_of(material, recipe),
        log=log,
        standing=Standing(),
    )


def _begin(run: Run, resume: bool) -> Run:
    """Where the run stopped, or at its beginning."""
    workers, log = run.workers, run.log
    for note in run.material.notes:
        log.say(note)
    parameters = sum(p.numel() for p in run.model.parameters())
    others = f", one of {workers.count} workers" if workers.count > 1 else ""
    log.say(f"{run.recipe.model}: {parameters:,} parameters, on {run.device}{others}")
    tried, term = batch_of(run, Shape(source=2, target=2), 1), run.objective().reinforce
    workers.in_turn(lambda: refuse_what_cannot_learn(run.model, tried, term))
    if resume and workers.in_turn(lambda: restore_standing(run)):
        workers.told(lambda: keep_recipe(run.out, run.recipe))
        log.go_back_to(run.standing.step, averaged=run.standing.averaged == run.standing.step)
        log.say(f"resumed at step {run.standing.step:,}")
    else:
        run = with_threads(with_room(run))
        log.go_back_to(-1)
        if not workers.leads:
            seed_worker(run)
    if run.recipe.train.compile and (reason := compile_forward(run.model, run.device)) is not None:
        log.say(reason)
    return run


def _model(recipe: Recipe, material: Material, *, begun: bool) -> Seq2Seq[Any, Any]:
    sides, how = material.vocabularies, recipe.train
    if getattr(recipe.settings, "tie", None) == "all" and not sides.joint:  # also where both happen to have one size
        raise UserError("model.tie is 'all', but the two sides have a vocabulary each: set model.tie=target")
    model = built_within_memory(
        lambda: build_model(recipe.model, recipe.settings, len(sides.source), len(sides.target))
    )
    if how.init_from is not None and not begun:
        take_weights(model, Path(how.init_from), sides)
    freeze(model, how.freeze)
    return model


def _updates(run: Run, interrupted: list[str], observe: Observer | None) -> tuple[str, bool]:
    """Update after update, with notes, checks and saves between them, until there is a reason to end → that reason, and
    whether the run is finished."""
    how, standing, log = run.recipe.train, run.standing, run.log
    stream = repeat_epochs(run.batches)
    noted, saved = time.monotonic(), standing.seconds
    before = saved - noted  # on the clock
    stop: str | None = None
    while (reason := _over(run, stop)) is None:
        done = run.progress()
        rate = run.rate()
        for group in run.optimiser.param_groups:
            group["lr"] = rate
        try:
            loss, tokens = update(run, list(islice(stream, how.accumulate)))
        except WorkerLostError:
            raise
        except UserError:  # a pair that does not fit: all that came before it is kept
            save_standing(run)
            raise
        standing.step += 1
        if math.isfinite(loss):
            standing.loss, standing.tokens, standing.bad = standing.loss + loss, standing.tokens + tokens, 0
            if run.mean is not None:
                run.mean.update(run.model)
        else:
            standing.skipped, standing.bad = standing.skipped + 1, standing.bad + 1
            log.say(f"step {standing.step:,}: the loss is not finite; the update was skipped")
        stop = _agree(run, before + time.monotonic(), interrupted)

        if standing.step % max(1, how.check_every // 10) == 0 and standing.tokens:
            now, (noted, speed) = standing.loss / standing.tokens, _speed(noted, standing.tokens)
            log.note(step=standing.step, epoch=run.batches.epoch, loss=now, rate=rate)
            log.progress(
                step=standing.step,
                epoch=run.batches.epoch,
                loss=now,
                rate=rate,
                speed=speed,
                done=done,
                seconds=standing.seconds,
            )
            standing.loss, standing.tokens = 0.0, 0
        if standing.step % how.check_every == 0:
            check(run, observe)
            stop = _agree(run, before + time.monotonic(), interrupted)
            noted, saved = time.monotonic(), standing.seconds
        elif standing.seconds - saved > _SAVE_SECONDS:
            save_standing(run)
            saved = standing.seconds
    return reason, stop is None


def _agree(run: Run, seconds: float, interrupted: list[str]) -> str | None:
    """The leader's clock is everybody's, and what interrupts one worker interrupts all: by what, if anything."""
    told = run.workers.gather((seconds, interrupted[:1]))
    run.standing.seconds = told[0][0]
    return next((name for _, names in told for name in names), None)


def _over(run: Run, stop: str | None) -> str | None:
    """Why the run is over, or None."""
    how, standing = run.recipe.train, run.standing
    if stop is not None:
        return f"interrupted by {stop} at step {standing.step:,}"
    if run.diverged:
        return f"{standing.bad} updates in a row were not finite: {_LESS}"
    if standing.stale >= how.patience:
        return f"no better score in {how.patience} checks"
    if how.schedule == "plateau" and how.lr * how.decay**standing.falls < how.least_lr:
        return f"the rate fell below train.least_lr = {how.least_lr:g}"
    if run.progress() >= 1:
        return "the budget is spent"
    return None


def _speed(since: float, tokens: int) -> tuple[float, float]:
    now = time.monotonic()
    return now, tokens / max(1e-9, now - since)
