"""`saccade compare`: train systems alike, evaluate them on the same sentences, and report."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.console import print_table, put, say, show
from saccade.cli.material import Count
from saccade.cli.searching import Beam, LengthPenalty, searching
from saccade.cli.translate import BatchTokens, ByOption, Device, bar

if TYPE_CHECKING:
    from saccade.comparison.result import Comparison

TRAINED, JUDGED, MEASURED = "Training", "Evaluation", "Measurement"

Systems = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM",
        help="A model folder (a,b,c: one system with several seeds), a recipe.toml, or a name from `saccade models`. "
        "Settings can follow a recipe or a name: luong2015:attention=luong2015-local-p-general,as=local-p.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option(help="The folder of the runs, report.html and results.json.")]
DataOption = Annotated[
    str | None,
    typer.Option(
        "--data", help="Training data of systems given by name: a file, or task:NAME.", rich_help_panel=TRAINED
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(help="How many (4: from 1 to 4), or which (1,5,9); default: 3.", rich_help_panel=TRAINED),
]
Seed = Annotated[
    list[int] | None, typer.Option(help="A seed, instead of --seeds; can be repeated.", rich_help_panel=TRAINED)
]
Minutes = Annotated[float | None, typer.Option(help="Training time of each run.", min=0.0, rich_help_panel=TRAINED)]
Steps = Annotated[int | None, typer.Option(help="Updates of each run.", min=1, rich_help_panel=TRAINED)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting for every system that is trained.", rich_help_panel=TRAINED
    ),
]
Unequal = Annotated[
    bool,
    typer.Option("--unequal", help="Allow unequal data and budget; the report says so.", rich_help_panel=TRAINED),
]
On = Annotated[
    str | None,
    typer.Option(
        help="Test pairs: a TSV file, a file of sources, or task:NAME; by default the training task's test split.",
        rich_help_panel=JUDGED,
    ),
]
Targets = Annotated[Path | None, typer.Option(help="The references, if --on has only sources.", rich_help_panel=JUDGED)]
Words = Annotated[
    str | None,
    typer.Option(
        help="Lengths of a task's test sources, such as 3-60; by default as in training.", rich_help_panel=JUDGED
    ),
]
Rounds = Annotated[
    int, typer.Option(help="Rounds of measuring speed and memory; 0 disables this.", min=0, rich_help_panel=MEASURED)
]
Resamples = Annotated[int, typer.Option(help="Resamples for intervals and p-values.", min=10, rich_help_panel=MEASURED)]
Shown = Annotated[
    int,
    typer.Option(help="Sentences in the report on which systems differ.", min=0, max=50, rich_help_panel=MEASURED),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.", rich_help_panel=MEASURED)]


def compare(
    systems: Systems,
    out: Out = Path("runs/compare"),
    data: DataOption = None,
    seeds: Seeds = None,
    seed: Seed = None,
    minutes: Minutes = None,
    steps: Steps = None,
    settings: Settings = None,
    unequal: Unequal = False,
    on: On = None,
    targets: Targets = None,
    count: Count = 500,
    words: Words = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = 1.0,
    rounds: Rounds = 5,
    resamples: Resamples = 1000,
    shown: Shown = 6,
    as_json: Json = False,
    by: ByOption = "auto",
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
) -> None:
    """Compare models or recipes with equal data and budget and several seeds. The same command continues.

    Example: [bold]saccade compare cho2014 bahdanau2014 vaswani2017 --data task:phrasebook-en-fr --minutes 2[/]
    """
    from saccade.comparison.compare import compare as run
    from saccade.comparison.options import CompareOptions
    from saccade.text.words import parse_unit

    options = CompareOptions(
        data=data,
        seeds=CompareOptions.seeds if seeds is None else seeds,
        seed=tuple(seed or ()),
        minutes=minutes,
        steps=steps,
        settings=tuple(settings or ()),
        unequal=unequal,
        on=on,
        targets=targets,
        count=count,
        words=words,
        rounds=rounds,
        resamples=resamples,
        shown=shown,
        by=parse_unit(by),
        device=device,
        batch_tokens=batch_tokens,
    )
    try:
        comparison = run(systems, out, options, search=searching(beam, length_penalty), say=say, bar=bar)
    except KeyboardInterrupt:
        raise typer.Exit(1) from None
    if as_json:
        put(json.dumps(comparison.to_dict(), ensure_ascii=False, indent=1))
    else:
        _print(comparison)
    say(f"report: {out / 'report.html'}")


def _print(comparison: "Comparison") -> None:
    from saccade.comparison.tables import terminal_tables

    show(f"{len(comparison.pairs.references)} sentences of {comparison.pairs.name}")
    for difference in comparison.plan.unequal:
        show(f"NOT equal: {difference}")
    for columns, rows in terminal_tables(comparison):
        print_table(columns, [["–" if cell is None else str(cell) for cell in row] for row in rows], wrap=True)
