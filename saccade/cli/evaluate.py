"""`saccade evaluate`: score the outputs of models or of files, and compare systems."""

import json
from typing import Annotated

import typer

from saccade.cli.console import print_table, put, say, show
from saccade.cli.options import Only, command
from saccade.cli.translate import bar, interruptible
from saccade.decode.search.options import DEFAULT_SEARCH, Search
from saccade.evaluate.options import EvaluateOptions

SystemArgument = Annotated[
    str,
    typer.Argument(
        help="A model folder, a file of outputs with one line per pair, or several runs of one system: a,b,c.",
        metavar="SYSTEM",
        show_default=False,
    ),
]
PairsArgument = Annotated[
    str | None,
    typer.Argument(help="A TSV file, the sources of two files, or task:NAME; not needed with --reference."),
]


@command
def evaluate(
    system: SystemArgument,
    pairs: PairsArgument = None,
    *,
    options: EvaluateOptions,
    search: Annotated[Search, Only("beam", "length_penalty")] = DEFAULT_SEARCH,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Score translations with BLEU, chrF, error rates and more, with intervals, and test whether systems differ.

    Example: [bold]saccade evaluate my-model test.tsv --against other-model --by-length --report report.html[/]
    """
    from saccade.evaluate.systems import evaluate_systems
    from saccade.evaluate.tables import signatures, terminal_tables

    with interruptible():
        result = evaluate_systems([system], pairs, options, search=search, say=say, bar=bar)
    if as_json:
        put(json.dumps(result.to_dict(), ensure_ascii=False, indent=2))
    else:
        count = len(result.data.references)
        show(f"{count} pair{'s' * (count != 1)} of {result.data.name}")
        for caption, (columns, rows) in terminal_tables(
            result, by_length=options.by_length, by_frequency=options.by_frequency
        ):
            if caption:
                show(caption)
            print_table(columns, rows)
        for signature in signatures(result):
            show(signature)
    if options.report is not None:
        say(f"report: {options.report}")
