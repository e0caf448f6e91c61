"""Commands that list what there is."""

import json
from typing import TYPE_CHECKING, Any

from saccade.cli.console import put
from saccade.cli.options import Json
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.tasks import TaskEntry


def attentions(as_json: Json = False) -> None:
    """List the attentions by name, with origin, formula and parts.

    Example: [bold]saccade attentions --json[/]
    """
    from saccade.attention import ATTENTIONS, describe

    rows = [describe(name) for name in ATTENTIONS]
    if as_json:
        put(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for row in rows:
        console.print(Text.assemble((row["name"], "bold"), "   ", row["formula"]))
        parts = " · ".join(f"{part} {name}" for part, name in row["parts"].items())
        console.print(Padding(Text(f"{row['origin'] or 'of unknown origin'}\n{parts}", style="dim"), (0, 0, 0, 4)))
    console.print(f"{len(rows)} attentions; one is ATTENTIONS\\[name](query_dim=…, memory_dim=…, width=…)")


def models(as_json: Json = False) -> None:
    """List the models by name, with paper, year, how they read the source, and parameters at each preset.

    Example: [bold]saccade models --json[/]
    """
    from saccade.models import MODELS

    size = 8000  # of each vocabulary, for counting
    rows: list[dict[str, Any]] = []
    for name, kind in MODELS.items():
        counts = {preset: _parameters(name, preset, size) for preset in kind.PRESETS}
        about = kind.paper
        rows.append(
            {
                "name": name,
                "paper": f"{about.authors}: {about.title}",
                "year": about.year,
                "reads": about.reads,
                "parameters": counts,
            }
        )
    if as_json:
        put(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for row in rows:
        console.print(Text.assemble((row["name"], "bold"), f"   reads {row['reads']}"))
        console.print(Text(f"    {row['year']}  {row['paper']}", style="dim"))
        presets = ", ".join(f"{preset} {count / 1e6:.1f}M" for preset, count in row["parameters"].items())
        console.print(Text(f"    parameters with two vocabularies of {size:,}: {presets}", style="dim"))


def _parameters(name: str, preset: str, size: int) -> int:
    import torch

    from saccade.models import MODELS

    with torch.device("meta"):  # shapes alone: nothing is allocated
        model = MODELS[name](MODELS[name].PRESETS[preset], size, size)
    return sum(p.numel() for p in model.parameters())


def tasks(as_json: Json = False) -> None:
    """List the built-in tasks with an example each, to be trained on as task:NAME.

    Example: [bold]saccade tasks[/]
    """
    from saccade.tasks import TASKS

    rows = [_task(name, entry) for name, entry in TASKS.items()]
    if as_json:
        put(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for row in rows:
        console.print(Text.assemble((f"task:{row['name']}", "bold"), f"   {row['summary']}"))
        shown = row["missing"] or f"{row['source']}  →  {row['target']}"
        least, most = row["words"]
        about = f"{least} to {most} {row['unit']}{', each pair once' if row['finite'] else ''} · {row['origin']}"
        console.print(Padding(Text.assemble(f"{shown}\n", (about, "dim")), (0, 0, 0, 4)))


def _task(name: str, entry: "TaskEntry") -> dict[str, Any]:
    known = ("summary", "origin", "pieces", "words", "unit", "finite", "extra")
    row = {"name": name, **{key: getattr(entry, key) for key in known}}
    try:
        example = next(entry.make().pairs(1, seed=1, words=entry.words))
    except UserError as missing:
        return {**row, "source": None, "target": None, "missing": str(missing)}
    return {**row, "source": example.source, "target": example.target, "missing": None}
