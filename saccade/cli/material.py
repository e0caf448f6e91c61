"""Options for the pairs that a command works on."""

from typing import Annotated

import typer

Pairs = Annotated[str, typer.Argument(help="A TSV file, the sources of two files, or task:NAME.", show_default=False)]
Count = Annotated[int, typer.Option(help="Number of pairs of a task's test split.", min=1)]
Seed = Annotated[int, typer.Option(help="Seed of a task's pairs.")]
