"""Checks during a run: how good it is now, whether that is the best so far, and both put on disk as one."""

import copy
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from saccade import files
from saccade.decode import folder as model_folder
from saccade.decode.translator import Translator
from saccade.models import Seq2Seq
from saccade.train.card import card
from saccade.train.recipe import Training
from saccade.train.run import Run, Standing
from saccade.train.standing import save_standing
from saccade.train.steps import mean_of
from saccade.train.validation import Validation, validate

Observer = Callable[[Standing, Translator], None]


def check(run: Run, observe: Observer | None = None) -> None:
    """Validate; keep the model if it is the best; save all that resuming needs, both as one."""
    how, standing = run.recipe.train, run.standing
    judged = run.model
    if run.mean is not None:
        judged = copy.deepcopy(run.model)
        judged.load_state_dict(run.mean.weights)
    translator = Translator(judged, run.material.vocabularies, how.device)
    result = validate(translator, run.material, how)
    better = is_better(result, standing.best, how)
    standing.checked, standing.stale = standing.step, 0 if better else standing.stale + 1
    if better:
        standing.best = {"step": standing.step, **asdict(result)}
    if how.average:
        weights = {name: value.detach().cpu().clone() for name, value in judged.state_dict().items()}
        standing.snapshots = [*standing.snapshots, weights][-how.average :]
    run.log.note(step=standing.step, epoch=run.batches.epoch, valid_loss=result.loss, bleu=result.bleu, best=better)
    run.log.checked(step=standing.step, loss=result.loss, bleu=result.bleu, better=better)
    with files.atomic_folder(run.out) as new:
        if better:
            _keep(new, judged, run)
        save_standing(new, run)
    if observe is not None:
        observe(standing, translator)


def is_better(result: Validation, best: dict[str, Any] | None, how: Training) -> bool:
    if best is None:
        return True
    if how.judge == "bleu":
        return (result.bleu, -result.loss) > (best["bleu"], -best["loss"])
    return bool(result.loss < best["loss"])


def try_average(run: Run) -> None:
    """The mean of the last checks' weights, kept if it is better than the best of them."""
    standing, how = run.standing, run.recipe.train
    if len(standing.snapshots) < 2:
        return
    averaged = copy.deepcopy(run.model)
    averaged.load_state_dict(mean_of(standing.snapshots))
    result = validate(Translator(averaged, run.material.vocabularies, how.device), run.material, how)
    better = is_better(result, standing.best, how)
    run.log.say(f"the mean of {len(standing.snapshots)} checks: validation loss {result.loss:.3f}")
    run.log.checked(step=standing.step, loss=result.loss, bleu=result.bleu, better=better)
    if better:
        standing.best = {"step": standing.step, "averaged": len(standing.snapshots), **asdict(result)}
        with files.atomic_folder(run.out) as new:
            _keep(new, averaged, run)
            save_standing(new, run)


def _keep(folder: Path, model: Seq2Seq[Any, Any], run: Run) -> None:
    standing = run.standing
    about = card(run.recipe, model, run.material, standing.best or {}, standing.seconds)
    extra = {"best": standing.best, "longest_trained": run.material.longest_source}
    model_folder.save(folder, model, run.material.vocabularies, extra=extra, card=about)
