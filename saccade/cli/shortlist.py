"""`saccade shortlist`: which tokens could translate which, for a faster search."""

from typing import Annotated

import typer

from saccade.cli.console import bar, put, show, to_json
from saccade.cli.options import Device, Json, ModelFolder, command
from saccade.decode.shortlist.options import ShortlistOptions
from saccade.trained_model import load

PairsArgument = Annotated[
    str,
    typer.Argument(
        metavar="PAIRS", help="Training pairs: a TSV file, the sources of two parallel files, - or task:NAME."
    ),
]


@command
def shortlist(
    model: ModelFolder,
    pairs: PairsArgument,
    device: Device = "auto",
    as_json: Json = False,
    *,
    options: ShortlistOptions,
) -> None:
    """Learn from pairs which tokens translate which, for `saccade translate --shortlist`, and compare its translations.

    Example: [bold]saccade shortlist my-model train.tsv --compare new.txt[/]
    """
    made = load(model, device=device).make_shortlist(pairs, **vars(options), bar=bar)
    if as_json:
        put(to_json(made.to_dict()))
    else:
        show(str(made))
