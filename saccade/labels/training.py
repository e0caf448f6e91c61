"""From labelled texts to a classifier or a tagger in a folder."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from saccade import config
from saccade.errors import Say, UserError, say
from saccade.labels.label_model import LabelModel, load
from saccade.labels.learner import LabelLearner
from saccade.labels.recipe import plan_recipe
from saccade.provenance import recording_call
from saccade.ranges import change_options
from saccade.train.distributed import join_workers
from saccade.train.log import Log
from saccade.train.loop import Outcome, train_learner
from saccade.train.request import LabelKind, TrainingRequest, list_settings
from saccade.train.run import claim_folder


@recording_call
def train(
    texts: str | Path,
    kind: LabelKind = "classify",
    *,
    settings: Mapping[str, Any] | Sequence[str] = (),
    log: Log | None = None,
    **options: Any,
) -> LabelModel:
    """Learn to label texts (`kind="classify"`) or their words (`kind="tag"`), save the model, and load it.

    `texts` is a file, or task:NAME. `options` are those of `saccade train`: `out="my-labels", budget="5m"`.
    """
    options |= {"kind": kind, "settings": list_settings(settings)}
    outcome = train_labels(change_options(TrainingRequest(pairs=str(texts)), options), log=log)
    if outcome.diverged:
        raise outcome.error()
    if not outcome.finished:
        raise UserError(f"{outcome.folder}: {outcome.reason}; call train(…, resume=True) to continue")
    return load(outcome.folder)


def train_labels(request: TrainingRequest, *, log: Log | None = None, say: Say = say) -> Outcome:
    """Plan the recipe, print the reasons for what was chosen automatically, and train it."""
    out = request.folder
    with join_workers() as workers, claim_folder(workers, out):
        recipe = workers.broadcast(lambda: plan_recipe(request, say))
        tables = {name: value for name, value in config.to_dict(recipe).items() if name != "train"}
        build = partial(LabelLearner, recipe)
        options: dict[str, Any] = {"resume": request.resume, "explain": request.explain, "log": log}
        return train_learner(build, recipe.train, out, tables=tables, **options)
