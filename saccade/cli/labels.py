"""`saccade labels`: label texts or their words with a trained model, score it, and look at what it read."""

import json
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

import saccade.labels
from saccade.cli.console import print_table, put, say, show, to_json
from saccade.cli.options import Command, Device, Json, command
from saccade.labels.options import AttendHopsOptions

app = typer.Typer(
    help="Label texts or words with a classifier or a tagger of `saccade train --kind classify` or `tag`.\n\n"
    "Example: [bold]saccade labels predict reviews new.txt[/]",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A folder of `saccade train --kind classify` or `tag`.")
]


def predict(
    model: ModelFolder,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Files with one text per line, or - (the default).")
    ] = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Print each text, a tab, and its label or the tags of its words.

    Example: [bold]saccade labels predict reviews new.txt[/]
    """
    loaded = saccade.labels.load(model, device=device)
    lines = chain.from_iterable(map(saccade.labels.read_lines, texts or ["-"]))
    for labelled in loaded.predict_all(lines):
        put(json.dumps(labelled.to_dict(), ensure_ascii=False) if as_json else f"{labelled.text}\t{labelled.label}")


def evaluate(
    model: ModelFolder,
    examples: Annotated[str, typer.Argument(help="Labelled texts: a file, as for training, or task:NAME.")],
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Compare the labels of a model with the right ones: accuracy, precision, recall and F1.

    Example: [bold]saccade labels evaluate reviews test.tsv[/]
    """
    scores = saccade.labels.load(model, device=device).evaluate(examples)
    if as_json:
        put(to_json(scores.to_dict()))
        return
    rows = [(name, score.precision, score.recall, score.f1, score.count) for name, score in scores.by_label.items()]
    total = "all entities" if scores.entities else "mean"
    rows.append((total, scores.precision, scores.recall, scores.f1, sum(row[-1] for row in rows)))
    print_table(
        ["label", "precision", "recall", "F1", "count"],
        [[name, *(f"{number:.1f}" for number in numbers), f"{count:,}"] for name, *numbers, count in rows],
    )
    show(f"accuracy {scores.accuracy:.1f} % of {scores.labels:,} labels")


def attend(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(help="The text that the model reads.")],
    device: Device = "auto",
    *,
    options: AttendHopsOptions,
) -> None:
    """Show what each hop of a classifier reads of a text.

    Example: [bold]saccade labels attend reviews "the soup was not bad." --plot hops.svg[/]
    """
    attention = saccade.labels.load(model, device=device).attend(text, pieces=options.pieces)
    if options.plot is None:
        attention.show()
        show(attention.label)
        return
    attention.save(options.plot, lang=options.lang, say=say)
    say(f"wrote {options.plot}")


_COMMANDS: dict[str, Command] = {"predict": predict, "evaluate": evaluate, "attend": attend}
for _name, _function in _COMMANDS.items():
    app.command(_name)(command(_function))
