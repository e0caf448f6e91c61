"""Tables for people."""

from collections.abc import Sequence


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False) -> None:
    """The first column stands to the left, all others, of figures, to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(stderr=err)
    console.print(table, width=None if console.is_terminal else 1000, crop=False)  # a file is as wide as need be
