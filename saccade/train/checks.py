"""Checks during a run: how good it is now, whether that is the best so far, and both put on disk as one."""

import copy
import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from saccade import config, model_folder
from saccade.align.aligner import CHOICE_PAIRS, Aligner
from saccade.align.attention import AlignmentHead, Layer
from saccade.decode import loading
from saccade.decode.calibrating import FEWEST, calibrate
from saccade.decode.translator import Translator
from saccade.models import Seq2Seq
from saccade.train.card import card
from saccade.train.recipe import Training
from saccade.train.run import TrainingRun, TrainingState, save_state
from saccade.train.validation import Validation, validate
from saccade.train.weights import mean_weights

Observer = Callable[[TrainingState, Translator], None]


def check(run: TrainingRun, observe: Observer | None = None) -> None:
    """Validate; keep the model if it is the best; save all that resuming needs, both as one."""
    training, state = run.recipe.train, run.state
    judged = run.model
    if run.mean is not None:
        judged = copy.deepcopy(run.model)
        judged.load_state_dict(run.mean.weights)
    translator = Translator(judged, run.dataset.vocabularies, run.device)
    result = validate(translator, run.dataset, training, run.workers)
    better = is_better(result, state.best, training)
    state.checked, state.stale = state.step, 0 if better else state.stale + 1
    if better:
        state.best = {"step": state.step, **asdict(result)}
    _watch_for_plateau(run, result.loss)
    if training.average:
        weights = {name: value.detach().cpu().clone() for name, value in judged.state_dict().items()}
        state.snapshots = [*state.snapshots, weights][-training.average :]
    run.log.note(step=state.step, epoch=run.batches.epoch, valid_loss=result.loss, bleu=result.bleu, best=better)
    run.log.checked(step=state.step, loss=result.loss, bleu=result.bleu, better=better)
    save_state(run, partial(_keep, judged, run) if better else None)
    if observe is not None and run.workers.is_rank0:
        observe(state, translator)


def _watch_for_plateau(run: TrainingRun, loss: float) -> None:
    training, state = run.recipe.train, run.state
    state.flat = 0 if loss < state.lowest else state.flat + 1
    state.lowest = min(state.lowest, loss)
    if training.schedule == "plateau" and state.flat >= training.decay_patience:
        state.flat, state.falls = 0, state.falls + 1
        run.log.say(f"step {state.step:,}: the validation loss no longer falls; the rate does, × {training.decay:g}")


def is_better(result: Validation, best: dict[str, Any] | None, training: Training) -> bool:
    if not math.isfinite(result.loss):  # a model that has broken down, whatever its translations score
        return False
    if best is None:
        return True
    if training.judge == "bleu":
        return (result.bleu, -result.loss) > (best["bleu"], -best["loss"])
    return bool(result.loss < best["loss"])


def try_average(run: TrainingRun) -> None:
    """The mean of the last checks' weights, kept if it is better than the best of them."""
    state, training = run.state, run.recipe.train
    if len(state.snapshots) < 2 or state.averaged == state.step:
        return
    state.averaged = state.step
    averaged = copy.deepcopy(run.model)
    averaged.load_state_dict(mean_weights(state.snapshots))
    translator = Translator(averaged, run.dataset.vocabularies, run.device)
    result = validate(translator, run.dataset, training, run.workers)
    better = is_better(result, state.best, training)
    count = len(state.snapshots)
    if better:
        state.best = {"step": state.step, "averaged": count, **asdict(result)}
    run.log.note(
        step=state.step,
        epoch=run.batches.epoch,
        valid_loss=result.loss,
        bleu=result.bleu,
        best=better,
        averaged=count,
    )
    run.log.checked(step=state.step, loss=result.loss, bleu=result.bleu, better=better, averaged=count)
    save_state(run, partial(_keep, averaged, run) if better else None)


def calibrate_best(run: TrainingRun) -> None:
    """Fit the confidence of the model that was kept, on the validation pairs that are translated."""
    some = run.dataset.valid[: run.recipe.train.judge_on]

    def fit() -> str:
        if len(some) < FEWEST:
            return f"confidence is not calibrated: that takes at least {FEWEST} validation pairs, there are {len(some)}"
        found = calibrate(loading.load(run.out, device=run.device), some)
        model_folder.add_extra(run.out, calibration=config.to_dict(found))
        return str(found)

    run.log.say(run.workers.broadcast(fit))


def choose_reader(run: TrainingRun) -> None:
    """Settle which of the weights of the model that was kept align words, on validation pairs: those that were guided,
    or those whose links foretell best. A layer, a head and a shift that suit one model ruin another's alignments."""
    some, training = run.dataset.valid[:CHOICE_PAIRS], run.recipe.train
    if not run.model.cross or len(some) < FEWEST:
        return

    def choose() -> str:
        if training.guided:
            layer: Layer = "all" if training.guided_layer is None else training.guided_layer
            reader = AlignmentHead(layer=layer, head=training.guided_head, shift=run.model.alignment_shift)
            said = f"words are aligned by {reader}, as they were guided"
        else:
            aligner = Aligner(loading.load(run.out, device=run.device))
            _, choice = aligner.with_best_head(
                ((pair.source, pair.target) for pair in some), every_head=True, every_shift=True
            )
            reader, said = choice.head, f"{choice.unit}s are aligned by {choice}"
        model_folder.add_extra(run.out, reader=config.to_dict(reader))
        return said

    run.log.say(run.workers.broadcast(choose))


def _keep(model: Seq2Seq[Any, Any], run: TrainingRun, folder: Path) -> None:
    state = run.state
    about = card(run.recipe, model, run.dataset, state.best or {}, state.seconds)
    extra = {"best": state.best, "longest_trained": run.dataset.longest_source}
    loading.save(folder, model, run.dataset.vocabularies, extra=extra, card=about)
