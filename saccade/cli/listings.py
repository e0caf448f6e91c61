"""Commands that list what there is."""

import json
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def attentions(as_json: Json = False) -> None:
    """List the attentions by name, with paper, year, formula and parts.

    Example: [bold]saccade attentions --json[/]
    """
    from saccade.attention import ATTENTIONS, describe

    rows = [describe(name) for name in ATTENTIONS]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for row in rows:
        console.print(Text.assemble((row["name"], "bold"), "   ", row["formula"]))
        parts = " · ".join(f"{part} {name}" for part, name in row["parts"].items())
        console.print(Padding(Text(f"{row['year']}  {row['paper']}\n{parts}", style="dim"), (0, 0, 0, 4)))
    console.print(f"{len(rows)} attentions; one is ATTENTIONS\\[name](query_dim=…, memory_dim=…, width=…)")
