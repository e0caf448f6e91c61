"""`saccade sweep`: train every combination of settings with several seeds, and print a table of the scores."""

import json
from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade.cli.console import print_table, put, say
from saccade.cli.options import Json, command
from saccade.errors import UserError


@command
def sweep(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe.toml that all runs share.")],
    out: Annotated[Path, typer.Option(help="Folder for the table of results and for the runs, one folder per run.")],
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUES", help="Values to combine, such as train.lr=1e-3,3e-4. Can be repeated."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds to train each combination with, such as 1,2,3.")] = "1",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a setting in all runs. Can be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train every combination of settings. The same command continues an interrupted sweep.

    Example: [bold]saccade sweep recipe.toml --grid train.lr=1e-3,3e-4 --seeds 1,2 --out runs/rates[/]
    """
    try:
        result = saccade.sweep(recipe, out, grid=grid or [], seeds=seeds, settings=settings or [])
    except KeyboardInterrupt:
        raise typer.Exit(1) from None
    if as_json:
        put(json.dumps(result.to_dict(), ensure_ascii=False))
    else:
        print_table(*result.table())
        say(f"table: {out / 'results.md'} and results.json")
    if result.failed:
        first = result.failed[0].reason
        raise UserError(f"{len(result.failed)} of {len(result.results)} runs failed; the first: {first}")
