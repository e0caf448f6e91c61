"""Tables for people."""

from collections.abc import Sequence

from saccade.errors import printable


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
