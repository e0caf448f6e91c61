"""One training run, from top to bottom."""

import copy
import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn

from saccade import files
from saccade.data.batching import Batch, Batches
from saccade.decode import folder as model_folder
from saccade.decode.device import find_device
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.models import Seq2Seq, build_model
from saccade.train.card import card
from saccade.train.interruption import noting_interruptions
from saccade.train.log import Log
from saccade.train.material import Material, load_material
from saccade.train.recipe import Recipe, Training
from saccade.train.standing import Standing, restore_standing, save_standing
from saccade.train.starting import leaving_no_false_start, prepare
from saccade.train.steps import RunningMean, batch_loss, learning_rate, make_optimiser, mean_of, uses_bf16
from saccade.train.validation import Validation, validate

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


Observer = Callable[[Standing, Translator], None]


def train(
    recipe: Recipe, out: Path, *, resume: bool = False, log: Log | None = None, observe: Observer | None = None
) -> Outcome:
    """Train until the budget is spent or nothing gets better; the best model is in `out`.

    `observe` is called after every check with where the run stands and a translator with the weights that were judged.
    """
    how = recipe.train
    device = find_device(how.device)
    if how.threads:
        torch.set_num_threads(how.threads)
    with nullcontext() if resume else leaving_no_false_start(out):
        recipe = prepare(out, recipe, resume)
        material = load_material(recipe.data, out, how.seed)
        torch.manual_seed(how.seed)
        model = _model(recipe, material).to(device)
    optimiser = make_optimiser(how, model.parameters())
    mean = RunningMean(model, how.ema) if how.ema else None
    batches = Batches(material.corpus, tokens=how.tokens, seed=how.seed)
    stream = _endless(batches)
    standing = Standing()

    with log or Log(out) as log, noting_interruptions() as interrupted:
        for note in material.notes:
            log.say(note)
        log.say(f"{recipe.model}: {sum(p.numel() for p in model.parameters()):,} parameters, on {device}")
        if resume and restore_standing(out, model, optimiser, mean, batches, standing):
            log.go_back_to(standing.step)
            log.say(f"resumed at step {standing.step:,}")
        else:
            log.go_back_to(-1)

        reason = None
        noted = saved = time.monotonic()
        while (reason := _over(how, standing, batches, interrupted)) is None:
            began = time.monotonic()
            done = _progress(how, standing, batches)
            rate = learning_rate(how, standing.step, done)
            for group in optimiser.param_groups:
                group["lr"] = rate
            update = [batch.to(device) for batch in islice(stream, how.accumulate)]
            try:
                loss, tokens = _update(model, optimiser, update, how, device, log)
            except UserError:  # a pair that does not fit: all that came before it is kept
                save_standing(out, model, optimiser, mean, batches, standing)
                raise
            standing.step += 1
            if math.isfinite(loss):
                standing.loss, standing.tokens, standing.bad = standing.loss + loss, standing.tokens + tokens, 0
                if mean is not None:
                    mean.update(model)
            else:
                standing.skipped, standing.bad = standing.skipped + 1, standing.bad + 1
                log.say(f"step {standing.step:,}: the loss is not finite; the update was skipped")
            standing.seconds += time.monotonic() - began

            if standing.step % max(1, how.check_every // 10) == 0 and standing.tokens:
                now, (noted, speed) = standing.loss / standing.tokens, _speed(noted, standing.tokens)
                log.note(step=standing.step, epoch=batches.epoch, loss=now, rate=rate)
                log.progress(
                    step=standing.step,
                    epoch=batches.epoch,
                    loss=now,
                    rate=rate,
                    speed=speed,
                    done=done,
                    seconds=standing.seconds,
                )
                standing.loss, standing.tokens = 0.0, 0
            if standing.step % how.check_every == 0:
                _check(recipe, material, model, mean, optimiser, batches, standing, out, log, observe)
                noted = saved = time.monotonic()
            elif time.monotonic() - saved > _SAVE_SECONDS:
                save_standing(out, model, optimiser, mean, batches, standing)
                saved = time.monotonic()

        finished = not interrupted
        if finished:
            if standing.checked != standing.step:
                _check(recipe, material, model, mean, optimiser, batches, standing, out, log, observe)
            _try_average(recipe, material, model, standing, out, log)
        else:
            save_standing(out, model, optimiser, mean, batches, standing)
        log.say(f"{reason}; the model is in {out}" if finished else f"{reason}; go on with --resume")
    return Outcome(
        folder=out,
        reason=reason,
        finished=finished,
        step=standing.step,
        seconds=standing.seconds,
        best=standing.best,
    )


def _model(recipe: Recipe, material: Material) -> Seq2Seq[Any, Any]:
    sides = material.vocabularies
    if getattr(recipe.settings, "tie", None) == "all" and not sides.joint:  # also where both happen to have one size
        raise UserError("model.tie is 'all', but the two sides have a vocabulary each: set model.tie=target")
    return build_model(recipe.model, recipe.settings, len(sides.source), len(sides.target))


def _over(how: Training, standing: Standing, batches: Batches, interrupted: list[str]) -> str | None:
    """Why the run is over, or None."""
    if interrupted:
        return f"interrupted by {interrupted[0]} at step {standing.step:,}"
    if standing.bad >= _MOST_BAD_UPDATES:
        return f"{standing.bad} updates in a row were not finite: lower train.lr, or set train.precision = 'fp32'"
    if standing.stale >= how.patience:
        return f"no better score in {how.patience} checks"
    if _progress(how, standing, batches) >= 1:
        return "the budget is spent"
    return None


def _progress(how: Training, standing: Standing, batches: Batches) -> float:
    """How much of the budget is spent, 0 … 1."""
    epochs = batches.epoch - 1 + batches.index / len(batches)
    spent = [
        (standing.step, how.max_steps),
        (epochs, how.max_epochs),
        (standing.seconds / 60, how.max_minutes),
    ]
    return max(used / most if most else 1.0 for used, most in spent if most is not None)


def _endless(batches: Batches) -> Iterator[Batch]:
    while True:
        yield from batches


def _update(
    model: Seq2Seq[Any, Any],
    optimiser: torch.optim.Optimizer,
    update: list[Batch],
    how: Training,
    device: torch.device,
    log: Log,
) -> tuple[float, int]:
    """One update from several batches, normalised by all their tokens → the plain loss, summed, and the tokens.

    What does not fit in memory is tried again in halves. A loss or gradient that is not finite changes nothing.
    """
    tokens = sum(int(batch.target_readable.sum()) for batch in update)
    total = 0.0
    full: Exception | None = None
    try:
        for batch in update:
            with torch.autocast(device.type, torch.bfloat16, enabled=uses_bf16(how.precision, device)):
                smoothed, plain = batch_loss(model, batch, how.smoothing)
            torch.autograd.backward(smoothed / tokens)
            total += float(plain)
    except RuntimeError as error:
        if not _of_memory(error):
            raise
        full = error.with_traceback(None)  # whose frames would hold on to the very tensors that did not fit
    if full is not None:
        optimiser.zero_grad(set_to_none=True)
        return _update(model, optimiser, _halved(update, full, log), how, device, log)
    norm = nn.utils.clip_grad_norm_(model.parameters(), how.clip or math.inf)
    if math.isfinite(total) and torch.isfinite(norm):
        optimiser.step()
    else:
        total = math.nan
    optimiser.zero_grad(set_to_none=True)
    return total, tokens


def _of_memory(error: RuntimeError) -> bool:
    """CUDA has an exception of its own; the CPU and MPS say it in words."""
    told = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in told or "DefaultCPUAllocator" in told


def _halved(update: list[Batch], error: Exception, log: Log) -> list[Batch]:
    largest = max(len(batch) for batch in update)
    if largest == 1:
        sides = max((batch.source.shape[1], batch.target_in.shape[1]) for batch in update)
        raise UserError(
            f"a single pair of {sides[0]} source and {sides[1]} target pieces does not fit in memory; "
            "--resume goes on without it; else lower data.longest, or train a smaller model"
        ) from error
    log.say(f"a batch of {largest} pairs does not fit in memory; it is split in halves (lower train.tokens)")
    return [half for batch in update for half in (batch.halves() if len(batch) > 1 else (batch,))]


def _check(
    recipe: Recipe,
    material: Material,
    model: Seq2Seq[Any, Any],
    mean: RunningMean | None,
    optimiser: torch.optim.Optimizer,
    batches: Batches,
    standing: Standing,
    out: Path,
    log: Log,
    observe: Observer | None,
) -> None:
    """Validate; keep the model if it is the best; save all that resuming needs, both as one."""
    judged = model
    if mean is not None:
        judged = copy.deepcopy(model)
        judged.load_state_dict(mean.weights)
    translator = Translator(judged, material.vocabularies, recipe.train.device)
    result = validate(translator, material, recipe.train)
    better = _is_better(result, standing.best, recipe.train)
    standing.checked, standing.stale = standing.step, 0 if better else standing.stale + 1
    if better:
        standing.best = {"step": standing.step, **asdict(result)}
    if recipe.train.average:
        weights = {name: value.detach().cpu().clone() for name, value in judged.state_dict().items()}
        standing.snapshots = [*standing.snapshots, weights][-recipe.train.average :]
    log.note(step=standing.step, epoch=batches.epoch, valid_loss=result.loss, bleu=result.bleu, best=better)
    log.checked(step=standing.step, loss=result.loss, bleu=result.bleu, better=better)
    with files.atomic_folder(out) as new:
        if better:
            _keep(new, judged, recipe, material, standing)
        save_standing(new, model, optimiser, mean, batches, standing)
    if observe is not None:
        observe(standing, translator)


def _is_better(result: Validation, best: dict[str, Any] | None, how: Training) -> bool:
    if best is None:
        return True
    if how.judge == "bleu":
        return (result.bleu, -result.loss) > (best["bleu"], -best["loss"])
    return bool(result.loss < best["loss"])


def _try_average(
    recipe: Recipe, material: Material, model: Seq2Seq[Any, Any], standing: Standing, out: Path, log: Log
) -> None:
    """The mean of the last checks' weights, kept if it is better than the best of them."""
    if len(standing.snapshots) < 2:
        return
    averaged = copy.deepcopy(model)
    averaged.load_state_dict(mean_of(standing.snapshots))
    result = validate(Translator(averaged, material.vocabularies, recipe.train.device), material, recipe.train)
    better = _is_better(result, standing.best, recipe.train)
    log.say(f"the mean of {len(standing.snapshots)} checks: validation loss {result.loss:.3f}")
    log.checked(step=standing.step, loss=result.loss, bleu=result.bleu, better=better)
    if better:
        standing.best = {"step": standing.step, "averaged": len(standing.snapshots), **asdict(result)}
        _keep(out, averaged, recipe, material, standing)


def _keep(folder: Path, model: Seq2Seq[Any, Any], recipe: Recipe, material: Material, standing: Standing) -> None:
    about = card(recipe, model, material, standing.best or {}, standing.seconds)
    extra = {"best": standing.best, "longest_trained": material.longest_source}
    model_folder.save(folder, model, material.vocabularies, extra=extra, card=about)


def _speed(since: float, tokens: int) -> tuple[float, float]:
    now = time.monotonic()
    return now, tokens / max(1e-9, now - since)
