"""`saccade align`: link the words or tokens of pairs by a model's attention."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from saccade.align.options import AlignOptions
from saccade.cli.console import print_table, progress_bar, put, say, to_json
from saccade.cli.options import Device, ModelFolder, command
from saccade.trained_model import load

PairsArgument = Annotated[
    str, typer.Argument(help="A TSV file, the sources of two files, or task:NAME.", metavar="PAIRS", show_default=False)
]


@command
def align(
    model: ModelFolder,
    pairs: PairsArgument,
    out: Annotated[Path | None, typer.Option(help="Write to this file at the end (default: standard output).")] = None,
    reverse: Annotated[
        Path | None,
        typer.Option("--with", help="A model for the reverse direction.", rich_help_panel="Both directions"),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Write the scores, the chosen head and the entropies to this file, as JSON.")
    ] = None,
    device: Device = "auto",
    *,
    options: AlignOptions,
) -> None:
    """Align the words of source and target by the model's attention.

    Example: [bold]saccade align en-fr pairs.tsv --with fr-en --out pairs.links[/]
    """
    measured = replace(options, entropy=options.entropy or summary is not None)
    with progress_bar("aligning", hidden=out is None) as progress:
        result = load(model, device=device).align_file(
            pairs, out=out, reverse=reverse, write=put, progress=progress, **vars(measured)
        )
    for note in result.notes:
        say(note)
    for columns, rows in result.tables(entropy=options.entropy):
        print_table(columns, rows, err=True)  # standard output may hold the links
    if summary is not None:
        about = {"model": str(model), "reverse": reverse and str(reverse), **result.to_dict()}
        summary.write_text(to_json(about) + "\n", encoding="utf-8")
