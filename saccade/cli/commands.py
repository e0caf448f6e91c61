"""All commands. They import what is heavy when they run, so that `saccade --help` is quick."""

from typing import Annotated

import typer

import saccade
from saccade.cli.align import align
from saccade.cli.calibrate import calibrate
from saccade.cli.compare import compare
from saccade.cli.console import show
from saccade.cli.data import data_
from saccade.cli.evaluate import evaluate
from saccade.cli.list import attentions, models, tasks
from saccade.cli.rerank import rerank
from saccade.cli.score import score
from saccade.cli.sweep import sweep
from saccade.cli.train import train
from saccade.cli.translate import translate
from saccade.cli.trusting import with_trust_code
from saccade.cli.try_ import try_

app = typer.Typer(
    help="Sequence-to-sequence learning in which attention is the first-class, interchangeable part.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("try")(try_)
app.command("data")(data_)
for command in (train, sweep, translate, score, rerank, calibrate, align, evaluate, compare):
    app.command()(with_trust_code(command))
for command in (tasks, models, attentions):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        show(f"saccade {saccade.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    pass
