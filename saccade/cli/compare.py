"""`saccade compare`: train systems alike, evaluate them on the same sentences, and report."""

from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade.cli.console import bar, plural, print_table, put, say, show, to_json
from saccade.cli.options import BriefSearch, Json, command
from saccade.comparison.options import CompareOptions
from saccade.decode.options import DEFAULT_SEARCH

Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM",
        help="A model folder (a,b,c: one system with several seeds), a recipe.toml, or a name from `saccade models`. "
        "Settings can follow a recipe or a name: luong2015:attention=luong2015-local-p-general,as=local-p.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for the runs, report.html and results.json.")]


@command
def compare(
    systems: Systems,
    out: Out = Path("runs/compare"),
    as_json: Json = False,
    *,
    options: CompareOptions,
    search: BriefSearch = DEFAULT_SEARCH,
) -> None:
    """Train and compare models or recipes under equal conditions, with several seeds.

    The same command continues an interrupted comparison.

    Example: [bold]saccade compare cho2014 bahdanau2014 vaswani2017 --data task:phrasebook-en-fr --minutes 2[/]
    """
    try:
        comparison = saccade.compare(systems, out=out, search=search, bar=bar, **vars(options))
    except KeyboardInterrupt:
        raise typer.Exit(1) from None
    if as_json:
        put(to_json(comparison.to_dict(), indent=1))
    else:
        show(f"{plural(len(comparison.pairs.references), 'sentence')} of {comparison.pairs.name}")
        for difference in comparison.plan.unequal:
            show(f"NOT equal: {difference}")
        for columns, rows in comparison.tables():
            print_table(columns, [["–" if cell is None else str(cell) for cell in row] for row in rows], wrap=True)
    say(f"report: {out / 'report.html'}")
