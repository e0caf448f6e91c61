"""`saccade evaluate`: score the outputs of models or of files, and compare systems."""

import json
from typing import Annotated

import typer

from saccade import api
from saccade.api import DEFAULT_SEARCH, EvaluateOptions, Search
from saccade.cli.console import bar, interruptible, plural, print_table, put, say, show
from saccade.cli.options import Json, Only, command

SystemArgument = Annotated[
    str,
    typer.Argument(
        help="A model folder, a file of translations with one line per pair, or several runs of one system: a,b,c.",
        metavar="SYSTEM",
        show_default=False,
    ),
]
PairsArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="PAIRS", help="A TSV file, the sources of two files, or task:NAME; not needed with --reference."
    ),
]


@command
def evaluate(
    system: SystemArgument,
    pairs: PairsArgument = None,
    as_json: Json = False,
    *,
    options: EvaluateOptions,
    search: Annotated[Search, Only("beam", "length_penalty")] = DEFAULT_SEARCH,
) -> None:
    """Score translations with BLEU, chrF, error rates and more, and test whether systems differ significantly.

    Example: [bold]saccade evaluate my-model test.tsv --against other-model --by-length --report report.html[/]
    """
    with interruptible():
        result = api.evaluate(system, pairs, options=options, search=search, bar=bar)
    if as_json:
        put(json.dumps(result.to_dict(), ensure_ascii=False, indent=2))
    else:
        show(f"{plural(len(result.data.references), 'pair')} of {result.data.name}")
        for caption, (columns, rows) in result.tables(by_length=options.by_length, by_frequency=options.by_frequency):
            if caption:
                show(caption)
            print_table(columns, rows)
        for signature in result.signatures():
            show(signature)
    if options.report is not None:
        say(f"report: {options.report}")
