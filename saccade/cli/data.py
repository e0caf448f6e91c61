"""`saccade data`: statistics of a corpus, the effect of cleaning, and the cleaned corpus."""

from pathlib import Path
from typing import Annotated

import typer

import saccade
from saccade.cli.console import plural, put, say, show, to_json
from saccade.cli.options import Json, command_without_models


@command_without_models
def data(
    pairs: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS",
            help="A file of pairs (TSV, JSONL, CSV), the sources of two parallel files, - for standard input, "
            "task:NAME or hf:NAME.",
        ),
    ],
    targets: Annotated[str | None, typer.Argument(metavar="TARGETS", help="The targets of two parallel files.")] = None,
    fields: Annotated[
        str | None, typer.Option(metavar="A,B", help="Names or column numbers of the source and the target.")
    ] = None,
    clean: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY[=VALUE]", help="A cleaning rule, such as ratio=3, or all. Can be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the remaining pairs to this .tsv or .jsonl file.")] = None,
    vocab_from: Annotated[
        Path | None, typer.Option(help="Also report how the vocabulary of this model folder tokenises the texts.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Describe a corpus: lengths, scripts, words, and the pairs that cleaning would remove.

    Example: [bold]saccade data pairs.tsv --clean duplicates --clean ratio=3 --out clean.tsv[/]
    """
    report = saccade.describe_data(pairs, targets, fields=fields, clean=clean, out=out, vocab_from=vocab_from)
    if as_json:
        put(to_json(report.to_dict()))
    else:
        show("\n".join(report.lines()))
    if report.changed:
        say(f"{out}: in {plural(report.changed, 'pair')} a tab or a line break became a space; *.jsonl keeps them")
