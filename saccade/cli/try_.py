"""`saccade try`: the effect of attention on built-in data, in less than four minutes on two quiet cores."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import put


def try_(
    updates: Annotated[
        int,
        typer.Option(
            help="Updates of the model with attention; the other one is twice as fast and makes twice as many.", min=1
        ),
    ] = 1600,
    seed: Annotated[int, typer.Option(help="Seed of the weights and batches.")] = 1,
    out: Annotated[Path, typer.Option(help="The folder of the models, figures.json and report.html.")] = Path(
        "runs/try"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON instead of tables.")] = False,
) -> None:
    """See the effect of attention: train a model without it and one with it, side by side, and compare them.

    Example: [bold]saccade try[/]
    """
    from rich.console import Console

    from saccade.tour.contest import run_tour
    from saccade.tour.progress import ContestProgress, clock
    from saccade.tour.report import show

    console = Console(stderr=as_json)
    began = time.monotonic()
    print_line = partial(console.print, highlight=False)
    with console.status("starting") as status:
        warned: list[str] = []

        def print_progress(progress: ContestProgress) -> None:
            if progress.warning is not None and not warned:
                warned.append(progress.warning)
                print_line(progress.warning)
            states = "   ".join(f"{name}: {state}" for name, state in progress.states.items())
            status.update(f"{clock(progress.seconds_left)} left   {states}")

        results = run_tour(out, updates=updates, seed=seed, say=print_line, progress=print_progress)
    if as_json:
        put(json.dumps({key: value for key, value in results.items() if key != "test"}, ensure_ascii=False, indent=1))
        return
    show(results, console)
    print_line(f"\nFinished in {clock(time.monotonic() - began)}. Report: {out / 'report.html'}   Continue with:")
    print_line(f"  saccade translate {out / 'bahdanau2014'} - --heatmap")
