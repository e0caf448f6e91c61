"""Checks during a run: how good it is now, whether that is the best so far, and both put on disk as one."""

import copy
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from saccade import config, model_folder
from saccade.decode import loading
from saccade.decode.aligner import CHOSEN_ON, Aligner
from saccade.decode.attended import Layer, Reader
from saccade.decode.calibrating import FEWEST, calibrate
from saccade.decode.translator import Translator
from saccade.models import Seq2Seq
from saccade.train.averaging import mean_of
from saccade.train.card import card
from saccade.train.recipe import Training
from saccade.train.run import Run, Standing
from saccade.train.standing import save_standing
from saccade.train.validation import Validation, validate

Observer = Callable[[Standing, Translator], None]


def check(run: Run, observe: Observer | None = None) -> None:
    """Validate; keep the model if it is the best; save all that resuming needs, both as one."""
    how, standing = run.recipe.train, run.standing
    judged = run.model
    if run.mean is not None:
        judged = copy.deepcopy(run.model)
        judged.load_state_dict(run.mean.weights)
    translator = Translator(judged, run.material.vocabularies, run.device)
    result = validate(translator, run.material, how, run.workers)
    better = is_better(result, standing.best, how)
    standing.checked, standing.stale = standing.step, 0 if better else standing.stale + 1
    if better:
        standing.best = {"step": standing.step, **asdict(result)}
    _watch_for_plateau(run, result.loss)
    if how.average:
        weights = {name: value.detach().cpu().clone() for name, value in judged.state_dict().items()}
        standing.snapshots = [*standing.snapshots, weights][-how.average :]
    run.log.note(step=standing.step, epoch=run.batches.epoch, valid_loss=result.loss, bleu=result.bleu, best=better)
    run.log.checked(step=standing.step, loss=result.loss, bleu=result.bleu, better=better)
    save_standing(run, partial(_keep, judged, run) if better else None)
    if observe is not None and run.workers.leads:
        observe(standing, translator)


def _watch_for_plateau(run: Run, loss: float) -> None:
    how, standing = run.recipe.train, run.standing
    standing.flat = 0 if loss < standing.lowest else standing.flat + 1
    standing.lowest = min(standing.lowest, loss)
    if how.schedule == "plateau" and standing.flat >= how.decay_patience:
        standing.flat, standing.falls = 0, standing.falls + 1
        run.log.say(f"step {standing.step:,}: the validation loss no longer falls; the rate does, × {how.decay:g}")


def is_better(result: Validation, best: dict[str, Any] | None, how: Training) -> bool:
    if not math.isfinite(result.loss):  # a model that has broken down, whatever its translations score
        return False
    if best is None:
        return True
    if how.judge == "bleu":
        return (result.bleu, -result.loss) > (best["bleu"], -best["loss"])
    return bool(result.loss < best["loss"])


def try_average(run: Run) -> None:
    """The mean of the last checks' weights, kept if it is better than the best of them."""
    standing, how = run.standing, run.recipe.train
    if len(standing.snapshots) < 2 or standing.averaged == standing.step:
        return
    standing.averaged = standing.step
    averaged = copy.deepcopy(run.model)
    averaged.load_state_dict(mean_of(standing.snapshots))
    translator = Translator(averaged, run.material.vocabularies, run.device)
    result = validate(translator, run.material, how, run.workers)
    better = is_better(result, standing.best, how)
    count = len(standing.snapshots)
    if better:
        standing.best = {"step": standing.step, "averaged": count, **asdict(result)}
    run.log.note(
        step=standing.step,
        epoch=run.batches.epoch,
        valid_loss=result.loss,
        bleu=result.bleu,
        best=better,
        averaged=count,
    )
    run.log.checked(step=standing.step, loss=result.loss, bleu=result.bleu, better=better, averaged=count)
    save_standing(run, partial(_keep, averaged, run) if better else None)


def calibrate_best(run: Run) -> None:
    """Fit the confidence of the model that was kept, on the validation pairs that are translated."""
    some = run.material.valid[: run.recipe.train.judge_on]

    def fit() -> str:
        if len(some) < FEWEST:
            return f"confidence is not calibrated: that takes at least {FEWEST} validation pairs, there are {len(some)}"
        found = calibrate(loading.load(run.out, device=run.device), some)
        model_folder.add_extra(run.out, calibration=config.to_dict(found))
        return str(found)

    run.log.say(run.workers.told(fit))


def choose_reader(run: Run) -> None:
    """Settle which of the weights of the model that was kept align words, on validation pairs: those that were guided,
    or those whose links foretell best. A layer, a head and a shift that suit one model ruin another's alignments."""
    some, how = run.material.valid[:CHOSEN_ON], run.recipe.train
    if not run.model.cross or len(some) < FEWEST:
        return

    def choose() -> str:
        if how.guided:
            layer: Layer = "all" if how.guided_layer is None else how.guided_layer
            reader = Reader(layer=layer, head=how.guided_head, shift=run.model.alignment_shift)
            said = f"words are aligned by {reader}, as they were guided"
        else:
            aligner = Aligner(loading.load(run.out, device=run.device))
            _, choice = aligner.chosen(((pair.source, pair.target) for pair in some), every_head=True, every_shift=True)
            reader, said = choice.reader, f"{choice.unit}s are aligned by {choice}"
        model_folder.add_extra(run.out, reader=config.to_dict(reader))
        return said

    run.log.say(run.workers.told(choose))


def _keep(model: Seq2Seq[Any, Any], run: Run, folder: Path) -> None:
    standing = run.standing
    about = card(run.recipe, model, run.material, standing.best or {}, standing.seconds)
    extra = {"best": standing.best, "longest_trained": run.material.longest_source}
    loading.save(folder, model, run.material.vocabularies, extra=extra, card=about)
