"""`saccade align`: link the words or pieces of pairs by a model's attention."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from saccade.align.options import DIRECTIONS, SCORING, AlignOptions
from saccade.cli.console import print_table, say
from saccade.cli.options import command
from saccade.cli.translate import Device, Model, bar, interruptible, written
from saccade.errors import UserError

PairsArgument = Annotated[
    str, typer.Argument(help="A TSV file, the sources of two files, or task:NAME.", metavar="PAIRS", show_default=False)
]
Out = Annotated[Path | None, typer.Option(help="Write to this file when all is done (default: standard output).")]
With = Annotated[
    Path | None, typer.Option("--with", help="A model of the other direction.", rich_help_panel=DIRECTIONS)
]
Summary = Annotated[
    Path | None,
    typer.Option(help="Write scores, choice and entropies to this file, as JSON.", rich_help_panel=SCORING),
]


@command
def align(
    model: Model,
    pairs: PairsArgument,
    out: Out = None,
    reverse: With = None,
    summary: Summary = None,
    device: Device = "auto",
    *,
    options: AlignOptions,
) -> None:
    """Align the words of pairs by what the model reads of the source while it is made to write the target.

    Example: [bold]saccade align en-fr pairs.tsv --with fr-en --out pairs.links[/]
    """
    if out is not None and out.is_dir():
        raise UserError(f"--out {out}: a folder; expected the name of a file")

    from saccade.align.corpus import align_corpus
    from saccade.decode import load
    from saccade.files import write_atomically

    translators = load(model, device=device), None if reverse is None else load(reverse, device=device)
    measured = replace(options, entropy=options.entropy or summary is not None)
    with interruptible(), written(out) as write:
        result = align_corpus(
            translators[0],
            pairs,
            measured,
            reverse=translators[1],
            write=write,
            say=say,
            bar=lambda label, total: bar(label, total, hidden=out is None),
        )
    for note in result.notes():
        say(note)
    for columns, rows in result.tables(entropy=options.entropy):
        print_table(columns, rows, err=True)  # standard output may hold the links
    if summary is not None:
        about = {"model": str(model), "reverse": reverse and str(reverse), **result.to_dict()}
        write_atomically(summary, json.dumps(about, ensure_ascii=False, indent=2) + "\n")
