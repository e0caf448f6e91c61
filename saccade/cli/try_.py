"""`saccade try`: the effect of attention on built-in data, in less than four minutes on two quiet cores."""

import json
from pathlib import Path
from typing import Annotated

import typer

from saccade.api import TourOptions, run_tour
from saccade.cli.console import put
from saccade.cli.options import with_options


@with_options
def try_(
    out: Annotated[Path, typer.Option(help="Folder for the models, figures.json and report.html.")] = Path("runs/try"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of tables.")] = False,
    *,
    options: TourOptions,
) -> None:
    """See what attention does: train a model without it and a model with it, and compare them.

    Example: [bold]saccade try[/]
    """
    results = run_tour(out, options, quiet=as_json)
    if as_json:
        put(json.dumps({key: value for key, value in results.items() if key != "test"}, ensure_ascii=False, indent=1))
