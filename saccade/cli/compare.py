"""`saccade compare`: systems trained alike, judged on the same sentences, in one table and one report."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.console import print_table, put, say, show
from saccade.cli.material import Count, material_of, pairs_of
from saccade.cli.searching import Beam, LengthPenalty, searching
from saccade.cli.sweep import seeds_of
from saccade.cli.translate import BatchTokens, ByOption, Device, bar
from saccade.errors import UserError
from saccade.locking import locked

if TYPE_CHECKING:
    from saccade.compare import Comparison, EvaluationSet, Plan
    from saccade.compare.tables import Table

TRAINED, JUDGED, MEASURED = "What is trained", "What they are judged on", "How"

Given = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM",
        help="A model's folder (a,b,c: other seeds of one), a recipe.toml, or a name from `saccade models`; the last "
        "two with settings: luong2015:attention=luong2015-local-p-general,as=local-p.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option(help="The folder of the runs, report.html and results.json.")]
DataOption = Annotated[
    str | None,
    typer.Option("--data", help="For names: a file of pairs, or task:NAME.", rich_help_panel=TRAINED),
]
Seeds = Annotated[
    str | None,
    typer.Option(help="How many (4: from 1 to 4), or which (1,5,9); default: 3.", rich_help_panel=TRAINED),
]
Seed = Annotated[
    list[int] | None,
    typer.Option(help="One seed by itself, in place of --seeds; may be repeated.", rich_help_panel=TRAINED),
]
Minutes = Annotated[float | None, typer.Option(help="Of training, for each run.", min=0.0, rich_help_panel=TRAINED)]
Steps = Annotated[int | None, typer.Option(help="Updates, of each run.", min=1, rich_help_panel=TRAINED)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="For all that is trained.", rich_help_panel=TRAINED),
]
Unequal = Annotated[
    bool,
    typer.Option("--unequal", help="Let data and budget differ; the report says so.", rich_help_panel=TRAINED),
]
On = Annotated[
    str | None,
    typer.Option(help="Pairs of a TSV file, sources, or task:NAME; else the task's.", rich_help_panel=JUDGED),
]
Targets = Annotated[
    Path | None, typer.Option(help="The references, where --on has the sources.", rich_help_panel=JUDGED)
]
Words = Annotated[
    str | None,
    typer.Option(help="Lengths of a task's test sources: 3-60; else as in training.", rich_help_panel=JUDGED),
]
Rounds = Annotated[int, typer.Option(help="Of measuring speed and memory; 0: none.", min=0, rich_help_panel=MEASURED)]
Resamples = Annotated[int, typer.Option(help="For intervals and p.", min=10, rich_help_panel=MEASURED)]
Shown = Annotated[
    int, typer.Option(help="Sentences that differ, in the report.", min=0, max=50, rich_help_panel=MEASURED)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.", rich_help_panel=MEASURED)]


def compare(
    systems: Given,
    out: Out = Path("runs/compare"),
    data: DataOption = None,
    seeds: Seeds = None,
    seed: Seed = None,
    minutes: Minutes = None,
    steps: Steps = None,
    settings: Settings = None,
    unequal: Unequal = False,
    on: On = None,
    targets: Targets = None,
    count: Count = 500,
    words: Words = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = 1.0,
    rounds: Rounds = 5,
    resamples: Resamples = 1000,
    shown: Shown = 6,
    as_json: Json = False,
    by: ByOption = "auto",
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
) -> None:
    """Compare models or recipes: equal data and budget, several seeds, one report. The same command goes on.

    Example: [bold]saccade compare cho2014 bahdanau2014 vaswani2017 --data task:phrasebook-en-fr --minutes 2[/]
    """
    from saccade import files
    from saccade.compare import CompareOptions, SharedSettings, make_plan, write_report
    from saccade.compare import compare as run
    from saccade.text.words import parse_unit

    unit = parse_unit(by)
    asked = SharedSettings(
        data=data,
        seeds=tuple(_seeds(seeds, seed or [])),
        minutes=minutes,
        steps=steps,
        overrides=(*([] if device == "auto" else [f"train.device={device}"]), *(settings or ())),
    )
    effort = CompareOptions(
        search=searching(beam, length_penalty),
        resamples=resamples,
        rounds=rounds,
        shown=shown,
        device=device,
        batch_tokens=batch_tokens,
    )
    planned = make_plan(systems, asked, unequal=unequal)
    pairs = _pairs(planned, on, targets, count, _words(words))
    with locked(out, folder=True):
        try:
            found = run(planned, pairs, out, effort=effort, say=say, bar=bar)
        except KeyboardInterrupt:
            say(f"interrupted; what was done is in {out}, and the same command goes on")
            raise typer.Exit(1) from None
        kept = json.dumps(found.to_dict(), ensure_ascii=False, indent=1)
        files.remove_leftovers(out / "results.json")
        files.write_atomically(out / "results.json", kept + "\n")
        write_report(found, out / "report.html", unit)
    if as_json:
        put(kept)
    else:
        _print(found)
    say(f"report: {out / 'report.html'}")


def _pairs(
    planned: "Plan", on: str | None, targets: Path | None, count: int, words: tuple[int, int] | None
) -> "EvaluationSet":
    from saccade.compare import EvaluationSet

    task = planned.task
    if on is None:
        if task is None:
            raise UserError("what are they judged on? Give --on test.tsv, or --on test.en --targets test.fr")
        on, words = task[0], words or task[1]
    material = material_of(pairs_of(on, targets, count=count, seed=1, words=words), [])
    if material.left_out:
        say(f"left out: {material.left_out} pairs with a blank side")
    return EvaluationSet(name=material.name, sources=material.sources or [], references=material.references)


def _print(found: "Comparison") -> None:
    from saccade.compare.judging import METRICS
    from saccade.compare.tables import pairs_table, summary

    show(f"{len(found.pairs.sources)} sentences of {found.pairs.name}")
    for differing in found.plan.unequal:
        show(f"NOT equal: {differing}")
    tables: list[Table] = [summary(found), pairs_table(found, METRICS[:1])]
    for columns, rows in tables:
        print_table(columns, [["–" if cell is None else str(cell) for cell in row] for row in rows], wrap=True)


def _seeds(text: str | None, named: list[int]) -> list[int]:
    """A single number in `text` is how many; those that are `named` are the seeds themselves."""
    if named:
        if text is not None:
            raise UserError(f"--seeds {text} and --seed {named[0]} each say which seeds; give one of them")
        return seeds_of(",".join(map(str, named)), "--seed")
    many = "3" if text is None else text.strip()
    if not many.isdecimal():
        return seeds_of(many)
    if not re.fullmatch("[1-9][0-9]{0,2}", many):
        raise UserError(f"--seeds {many[:20]}: expected how many, from 1 to 999, or which, such as --seeds 1,2,3")
    return list(range(1, int(many) + 1))


def _words(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]{1,6})\s*[-–,]\s*([0-9]{1,6})\s*", text)
    if found is None or not 0 < int(found[1]) <= int(found[2]):
        raise UserError(f"--words {text}: expected the shortest and the longest, such as --words 3-60")
    return int(found[1]), int(found[2])
