"""Where commands print: messages and tables for people, data for programs."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from saccade.errors import Progress, count_up, plural, printable, say

__all__ = ["bar", "plural", "print_entry", "print_table", "progress_bar", "put", "say", "show", "to_json"]

_LAYOUT = "\n\t"


def show(text: str) -> None:
    """Print lines for people on standard output."""
    sys.stdout.write(printable(text, keep=_LAYOUT) + "\n")
    sys.stdout.flush()


def put(text: str) -> None:
    """Print data on standard output: exactly `text`, except for control characters on a terminal."""
    sys.stdout.write((printable(text, keep=_LAYOUT) if sys.stdout.isatty() else text) + "\n")
    sys.stdout.flush()


def to_json(value: Any, *, indent: int = 2) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False, wrap: bool = False
) -> None:
    """Print a table: the first column aligned left, the others, which hold numbers, right. `wrap` lets a column that is
    wider than the terminal continue on the next line."""
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
        console = Console(stderr=err, width=1000)  # a file has no width
    console.print(table, crop=False)


@contextmanager
def progress_bar(title: str, *, hidden: bool = False, in_bytes: bool = False) -> Iterator[Progress]:
    """Show progress on standard error if it is a terminal; yields a function of (finished, total or None)."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    counted = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn(escape(printable(title))), BarColumn(), counted, TimeRemainingColumn())
    with RichProgress(*columns, console=console, transient=True, disable=hidden or not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)
        yield lambda finished, total: progress.update(task, completed=finished, total=total)


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """The same; yields a function of how many more are finished."""
    with progress_bar(title) as progress:
        yield count_up(progress, total)


def print_entry(name: str, text: str, about: str = "", example: str = "") -> None:
    """Print one entry of a listing: its name in bold, a text, and lines about it below."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    console.print(Text.assemble((name, "bold"), "   " if name else "", text))
    if about:
        console.print(Padding(Text.assemble(f"{example}\n" if example else "", (about, "dim")), (0, 0, 0, 4)))
