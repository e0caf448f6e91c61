"""`saccade align`: link the words or tokens of pairs, by a model's attention or by a model learnt from the pairs."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import saccade.align
from saccade.align.options import AlignOptions, StatisticalModel, is_statistical
from saccade.cli.console import bar, print_table, progress_bar, put, say, to_json
from saccade.cli.options import Device, command
from saccade.errors import UserError
from saccade.trained_model import load

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="The folder of a trained model, or a model that learns from PAIRS: ibm1, ibm2 or hmm.",
        show_default=False,
    ),
]
PairsArgument = Annotated[
    str, typer.Argument(help="A TSV file, the sources of two files, or task:NAME.", metavar="PAIRS", show_default=False)
]


@command
def align(
    model: ModelArgument,
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
    """Align the words of source and target by the model's attention, or by a model that learns from the pairs.

    Example: [bold]saccade align en-fr pairs.tsv --with fr-en --out pairs.links[/]

    Without a trained model: [bold]saccade align hmm pairs.tsv --out pairs.links[/]
    """
    if is_statistical(model):
        _refuse_without_trained_model(model, reverse, device)
        shown = None if out is None else bar  # else the links are printed
        result = saccade.align.align_file(model, pairs, out=out, write=put, bar=shown, **vars(options))
    else:
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
        about = {"model": model, "reverse": reverse and str(reverse), **result.to_dict()}
        summary.write_text(to_json(about) + "\n", encoding="utf-8")


def _refuse_without_trained_model(model: StatisticalModel, reverse: Path | None, device: str) -> None:
    if reverse is not None:
        raise UserError(f"--with needs a trained model; {model} learns both directions itself: leave out {reverse}")
    if device not in ("auto", "cpu"):
        raise UserError(f"--device {device}: {model} runs on the CPU; leave it out")
