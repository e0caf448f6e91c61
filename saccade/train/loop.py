"""One training run, from top to bottom."""

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from saccade.data.batching import Batch, Batches
from saccade.decode.device import find_device
from saccade.errors import UserError
from saccade.models import Seq2Seq, build_model
from saccade.train.checks import Observer, check, try_average
from saccade.train.interruption import noting_interruptions
from saccade.train.log import Log
from saccade.train.material import Material, load_material
from saccade.train.recipe import Recipe
from saccade.train.run import Run, Standing
from saccade.train.standing import restore_standing, save_standing
from saccade.train.starting import leaving_no_false_start, prepare
from saccade.train.steps import RunningMean, learning_rate, make_optimiser
from saccade.train.update import update

_SAVE_SECONDS = 600.0  # at most so much work is lost to a kill, however far apart the checks are
_MOST_BAD_UPDATES = 20  # in a row that are not finite, before the run gives up


@dataclass(frozen=True, kw_only=True)
class Outcome:
    folder: Path
    reason: str  # why the run ended
    finished: bool  # False: it was interrupted, and can be resumed
    step: int
    seconds: float
    best: dict[str, Any] | None


def train(
    recipe: Recipe, out: Path, *, resume: bool = False, log: Log | None = None, observe: Observer | None = None
) -> Outcome:
    """Train until the budget is spent or nothing gets better; the best model is in `out`.

    `observe` is called after every check with where the run stands and a translator with the weights that were judged.
    """
    run = start(recipe, out, resume=resume, log=log)
    standing = run.standing
    with run.log as log, noting_interruptions() as interrupted:
        for note in run.material.notes:
            log.say(note)
        log.say(f"{run.recipe.model}: {sum(p.numel() for p in run.model.parameters()):,} parameters, on {run.device}")
        if resume and restore_standing(run):
            log.go_back_to(standing.step)
            log.say(f"resumed at step {standing.step:,}")
        else:
            log.go_back_to(-1)
        reason = _updates(run, interrupted, observe)
        finished = not interrupted
        if finished:
            if standing.checked != standing.step:
                check(run, observe)
            try_average(run)
        else:
            save_standing(out, run)
        log.say(f"{reason}; the model is in {out}" if finished else f"{reason}; go on with --resume")
    return Outcome(
        folder=out,
        reason=reason,
        finished=finished,
        step=standing.step,
        seconds=standing.seconds,
        best=standing.best,
    )


def start(recipe: Recipe, out: Path, *, resume: bool = False, log: Log | None = None) -> Run:
    """All that a run works on, before its first step."""
    how = recipe.train
    device = find_device(how.device)
    if how.threads:
        torch.set_num_threads(how.threads)
    with nullcontext() if resume else leaving_no_false_start(out):
        recipe = prepare(out, recipe, resume)
        material = load_material(recipe.data, out, how.seed)
        torch.manual_seed(how.seed)
        model = _model(recipe, material).to(device)
    return Run(
        recipe=recipe,
        out=out,
        material=material,
        device=device,
        model=model,
        optimiser=make_optimiser(how, model.parameters()),
        mean=RunningMean(model, how.ema) if how.ema else None,
        batches=Batches(material.corpus, tokens=how.tokens, seed=how.seed),
        log=log or Log(out),
        standing=Standing(),
    )


def _model(recipe: Recipe, material: Material) -> Seq2Seq[Any, Any]:
    sides = material.vocabularies
    if getattr(recipe.settings, "tie", None) == "all" and not sides.joint:  # also where both happen to have one size
        raise UserError("model.tie is 'all', but the two sides have a vocabulary each: set model.tie=target")
    return build_model(recipe.model, recipe.settings, len(sides.source), len(sides.target))


def _updates(run: Run, interrupted: list[str], observe: Observer | None) -> str:
    """Update after update, with notes, checks and saves between them, until there is a reason to end: that reason."""
    how, standing, log = run.recipe.train, run.standing, run.log
    stream = _endless(run.batches)
    noted = saved = time.monotonic()
    while (reason := _over(run, interrupted)) is None:
        began = time.monotonic()
        done = run.progress()
        rate = learning_rate(how, standing.step, done)
        for group in run.optimiser.param_groups:
            group["lr"] = rate
        try:
            loss, tokens = update(run, [batch.to(run.device) for batch in islice(stream, how.accumulate)])
        except UserError:  # a pair that does not fit: all that came before it is kept
            save_standing(run.out, run)
            raise
        standing.step += 1
        if math.isfinite(loss):
            standing.loss, standing.tokens, standing.bad = standing.loss + loss, standing.tokens + tokens, 0
            if run.mean is not None:
                run.mean.update(run.model)
        else:
            standing.skipped, standing.bad = standing.skipped + 1, standing.bad + 1
            log.say(f"step {standing.step:,}: the loss is not finite; the update was skipped")
        standing.seconds += time.monotonic() - began

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
            noted = saved = time.monotonic()
        elif time.monotonic() - saved > _SAVE_SECONDS:
            save_standing(run.out, run)
            saved = time.monotonic()
    return reason


def _over(run: Run, interrupted: list[str]) -> str | None:
    """Why the run is over, or None."""
    how, standing = run.recipe.train, run.standing
    if interrupted:
        return f"interrupted by {interrupted[0]} at step {standing.step:,}"
    if standing.bad >= _MOST_BAD_UPDATES:
        return f"{standing.bad} updates in a row were not finite: lower train.lr, or set train.precision = 'fp32'"
    if standing.stale >= how.patience:
        return f"no better score in {how.patience} checks"
    if run.progress() >= 1:
        return "the budget is spent"
    return None


def _endless(batches: Batches) -> Iterator[Batch]:
    while True:
        yield from batches


def _speed(since: float, tokens: int) -> tuple[float, float]:
    now = time.monotonic()
    return now, tokens / max(1e-9, now - since)
