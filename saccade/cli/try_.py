"""`saccade try`: the whole of it on built-in data, in less than four minutes of two quiet cores."""

import json
import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import put
from saccade.errors import UserError
from saccade.locking import entries, locked

EXAMPLE = "the small girl does not see the big black dog that I follow in the garden."


def try_(
    context: typer.Context,
    updates: Annotated[
        int,
        typer.Option(help="Of the model with attention; the one without, twice as fast, makes twice as many.", min=1),
    ] = 1600,
    seed: Annotated[int, typer.Option(help="Of weights and batches.")] = 1,
    out: Annotated[Path, typer.Option(help="Where models, figures and report go.")] = Path("runs/try"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON instead of tables.")] = False,
) -> None:
    """See what attention is for: train a model without and one with it, side by side, and compare them.

    Example: [bold]saccade try[/]
    """
    from rich.console import Console

    from saccade import files
    from saccade.provenance import provenance
    from saccade.tour.contest import ContestOptions, ContestProgress, clock, contest
    from saccade.tour.showing import look, show, targets, write_report

    console = Console(stderr=as_json)
    began = time.monotonic()
    context.with_resource(locked(out, folder=True))
    _clear(out)
    effort = ContestOptions(updates=updates, seed=seed)
    console.print(
        "Training without and with attention, side by side, on English–French pairs of the built-in phrasebook …",
        highlight=False,
    )
    with console.status("starting") as status:
        warned: list[str] = []

        def tell(now: ContestProgress) -> None:
            if now.slow is not None and not warned:
                warned.append(now.slow)
                console.print(now.slow, highlight=False)
            where = "   ".join(f"{name}: {text}" for name, text in now.where.items())
            status.update(f"{clock(now.seconds_left)} left   {where}")

        results = contest(effort, out, tell)
    results["provenance"] = provenance(seed=seed)
    heatmap = look(out / "bahdanau2014", EXAMPLE)
    results["heatmap"] = heatmap
    results["targets"] = [vars(target) for target in targets(results)]
    results["seconds"] = round(time.monotonic() - began, 1)
    files.write_atomically(out / "figures.json", json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    write_report(results, heatmap, out / "report.html")
    if as_json:
        shown = {key: value for key, value in results.items() if key != "test"}
        put(json.dumps(shown, ensure_ascii=False, indent=1))
    else:
        show(results, heatmap, console)
        console.print(
            f"\nAll of it took {clock(time.monotonic() - began)}. Report: {out / 'report.html'}   Go on:",
            highlight=False,
        )
        console.print(f"  saccade translate {out / 'bahdanau2014'} - --heatmap", highlight=False)


def _clear(out: Path) -> None:
    """Remove what an earlier `saccade try` has put there, and nothing else."""
    found = entries(out)
    if found and not (out / "figures.json").exists() and not (out / "cho2014.log").exists():
        raise UserError(f"{out}: the folder is not empty, and not of an earlier `saccade try`; give another --out")
    for path in found:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
