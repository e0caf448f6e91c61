"""Where commands print: messages and tables for people, data for programs."""

import sys
from collections.abc import Sequence

from saccade.errors import printable

_LAYOUT = "\n\t"


def say(text: str) -> None:
    """A line for people, on standard error: standard output may hold data."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def show(text: str) -> None:
    """Lines for people, on standard output."""
    sys.stdout.write(printable(text, keep=_LAYOUT) + "\n")
    sys.stdout.flush()


def put(text: str) -> None:
    """Data, on standard output: exactly `text`, unless a terminal would obey what is in it."""
    sys.stdout.write((printable(text, keep=_LAYOUT) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False, wrap: bool = False
) -> None:
    """The first column stands to the left, all others, of figures, to the right; `wrap` is for one that may be wider
    than a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(Text(printable(column)), justify="right" if place else "left", no_wrap=not wrap)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(stderr=err)
    if not console.is_terminal:
        console = Console(stderr=err, width=1000)  # a file is as wide as need be
    console.print(table, crop=False)
