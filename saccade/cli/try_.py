"""`saccade try`: the effect of attention on built-in data, in less than four minutes on two quiet cores."""

from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade.cli.console import put, to_json
from saccade.cli.options import command_without_models
from saccade.tour import TourOptions

Out = Annotated[Path, typer.Option(help="Folder for the models, figures.json and report.html.")]


@command_without_models
def try_(
    out: Out = Path("runs/try"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of tables.")] = False,
    *,
    options: TourOptions,
) -> None:
    """See what attention does: train a model without it and a model with it, and compare them.

    Example: [bold]saccade try[/]
    """
    results = saccade.run_tour(out, quiet=as_json, **vars(options))
    if as_json:
        put(to_json({key: value for key, value in results.items() if key != "test"}, indent=1))
