"""`saccade sweep`: every combination of some settings, each trained with several seeds, and a table of the scores."""

import json
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import print_table, put, say
from saccade.errors import UserError


def sweep(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe.toml that all runs share.")],
    out: Annotated[Path, typer.Option(help="The folder of the runs, each in a folder of its own, and of the table.")],
    grid: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUES", help="Such as train.lr=1e-3,3e-4; may come again.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="With which each combination is trained, such as 1,2,3.")] = "1",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="For all runs; may come again.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Train every combination of settings; the same command goes on with what is missing.

    Example: [bold]saccade sweep recipe.toml --grid train.lr=1e-3,3e-4 --seeds 1,2 --out runs/rates[/]
    """
    from saccade.train import sweep as sweeps

    runs = sweeps.points(recipe, grid or [], seeds_of(seeds), settings or [])
    judge = runs[0].recipe.train.judge
    results: list[sweeps.Result] = []
    try:
        for result in sweeps.sweep(runs, out, say):
            results.append(result)
            found = sweeps.keep_results(out, recipe, results, judge)
    except KeyboardInterrupt:
        say(f"interrupted after {len(results)} of {len(runs)} runs; the same command goes on")
        raise typer.Exit(1) from None
    if as_json:
        put(json.dumps(found, ensure_ascii=False))
    else:
        print_table(*sweeps.lines_of(sweeps.table(results, judge), judge))
        say(f"{out / 'results.md'} and results.json hold the table")
    failed = [result for result in results if result.best is None]
    if failed:
        raise UserError(f"{len(failed)} of {len(runs)} runs failed; the first: {failed[0].reason}")


def seeds_of(text: str, option: str = "--seeds") -> list[int]:
    try:
        found = [int(one) for one in text.split(",")]
    except ValueError:
        found = []
    if not found or len(set(found)) < len(found):
        raise UserError(f"{option} {text}: expected different whole numbers, such as --seeds 1,2,3")
    return found
