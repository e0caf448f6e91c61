"""All commands. `saccade --help` loads no torch: the API imports it when a command runs."""

import typer

from saccade.cli.align import align
from saccade.cli.calibrate import calibrate
from saccade.cli.compare import compare
from saccade.cli.data import data
from saccade.cli.evaluate import evaluate
from saccade.cli.export import export
from saccade.cli.get import get
from saccade.cli.labels import app as labels
from saccade.cli.list import attentions, models, tasks
from saccade.cli.lm import app as lm
from saccade.cli.options import Command, common_options
from saccade.cli.pretrain import pretrain
from saccade.cli.rerank import rerank
from saccade.cli.score import score
from saccade.cli.shortlist import shortlist
from saccade.cli.study import study
from saccade.cli.sweep import sweep
from saccade.cli.train import train
from saccade.cli.translate import translate
from saccade.cli.try_ import try_
from saccade.cli.words import app as words

app = typer.Typer(
    help="Train, apply and compare sequence-to-sequence models with interchangeable attention.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("try")(try_)
MODEL_COMMANDS: list[Command] = [
    train,
    pretrain,
    sweep,
    translate,
    score,
    rerank,
    calibrate,
    align,
    evaluate,
    compare,
    shortlist,
    export,
]
LISTS: list[Command] = [tasks, models, attentions]
for function in (study, get, data, *MODEL_COMMANDS, *LISTS):
    app.command()(function)
app.add_typer(words, name="words")
app.add_typer(lm, name="lm")
app.add_typer(labels, name="labels")
app.callback()(common_options)
