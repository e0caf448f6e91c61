"""`saccade get`: public data sets, as files to train on."""

from typing import Annotated

import typer

import saccade
from saccade.cli.console import progress_bar, put, show, to_json
from saccade.cli.options import Json, command_without_models
from saccade.public_data.options import GetOptions


@command_without_models
def get(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="multi30k, tatoeba, iwslt14, wmt14 (or NAME:A-B for two languages), opus:CORPUS/VERSION/A-B, cmudict, "
            "or scan (or scan:SPLIT).",
        ),
    ],
    as_json: Json = False,
    *,
    options: GetOptions,
) -> None:
    """Download a public data set and write files to train on. The same command continues an interrupted download.

    Shows the source, the licence and the citation, and the command to type next.

    Example: [bold]saccade get multi30k --pair en-fr --out data/multi30k[/]
    """
    with progress_bar("downloading", in_bytes=True) as progress:
        fetched = saccade.get(name, **vars(options), progress=progress)
    if as_json:
        put(to_json(fetched.to_dict()))
    else:
        show("\n".join(fetched.lines()))
