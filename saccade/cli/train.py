"""`saccade train`: from pairs, or from a recipe, to a model folder."""

import json
from typing import Annotated, Any

import typer

from saccade.api import run_training
from saccade.cli.console import put
from saccade.cli.options import command
from saccade.train.request import TrainingRequest


@command
def train(
    *,
    request: TrainingRequest,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a model on pairs, or from a recipe.

    Given only pairs, chooses the model, vocabulary, size and schedule, explains the choice, and saves it as a recipe.

    With --kind classify or tag, learns to label texts or words instead.

    Example: [bold]saccade train pairs.tsv --out my-model --budget 30m[/]
    """
    report(run_training(request), as_json)


def report(outcome: Any, as_json: bool) -> None:
    """Print the outcome of a run as JSON, and exit with an error if it did not finish."""
    if as_json and outcome.is_rank0:
        fields = {"folder": str(outcome.folder), "reason": outcome.reason, "step": outcome.step, "best": outcome.best}
        put(json.dumps(fields))
    if outcome.diverged:
        raise outcome.error()
    if not outcome.finished:
        raise typer.Exit(1)
