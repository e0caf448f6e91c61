"""`saccade evaluate`: score the outputs of models or of files, and compare systems."""

from typing import Annotated

import typer

import saccade
from saccade.cli.console import bar, plural, print_table, put, say, show, to_json
from saccade.cli.options import BriefSearch, Json, command
from saccade.decode.options import DEFAULT_SEARCH
from saccade.evaluation.options import EvaluateOptions

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
    search: BriefSearch = DEFAULT_SEARCH,
) -> None:
    """Score translations with BLEU, chrF, error rates and more, and test whether systems differ significantly.

    Example: [bold]saccade evaluate my-model test.tsv --against other-model --by-length --report report.html[/]
    """
    result = saccade.evaluate(system, pairs, search=search, bar=bar, **vars(options))
    if as_json:
        put(to_json(result.to_dict()))
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
