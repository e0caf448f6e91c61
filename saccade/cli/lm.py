"""`saccade lm`: train a language model, score texts with it, and let it write."""

import json
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

import saccade.lm
from saccade.cli.console import print_table, put, say, to_json
from saccade.cli.options import Command, Json, command_without_models
from saccade.lm.options import GenerateOptions, NgramTraining

app = typer.Typer(
    help="Train language models, score texts, and generate. So far: n-grams with modified Kneser–Ney smoothing.\n\n"
    "Example: [bold]saccade lm train europarl.en.gz --out en-lm[/]",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of `saccade lm train`.")]


def train(*, options: NgramTraining) -> None:
    """Count the n-grams of a text, and smooth them.

    Example: [bold]saccade lm train europarl.en.gz --out en-lm --order 3[/]
    """
    model = saccade.lm.train_ngrams(options)
    say(f"{model.ngrams.size:,} n-grams of {len(model.words):,} words; the model is in {options.folder}")


def score(
    model: ModelFolder,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Files with one text per line, or -.")],
    per_line: Annotated[bool, typer.Option("--per-line", help="Print the log-probability of each line.")] = False,
    as_json: Json = False,
) -> None:
    """Report the perplexity of texts; or the natural logarithm of the probability of each line.

    Example: [bold]saccade lm score en-lm test.en[/]
    """
    loaded = saccade.lm.load(model)
    lines = chain.from_iterable(map(saccade.lm.read_lines, texts))
    if per_line:
        for each in loaded.score_texts(lines):
            values = {"log_probability": each.log_probability, "tokens": each.tokens, "unknown": each.unknown}
            put(json.dumps(values) if as_json else f"{each.log_probability:.4f}")
        return
    total = loaded.score(lines)
    if as_json:
        put(to_json(total.to_dict()))
        return
    row = [f"{total.texts:,}", f"{total.tokens:,}", f"{total.unknown:,}"]
    row += [f"{total.perplexity:.2f}", f"{total.known_perplexity:.2f}"]
    print_table(["texts", "tokens", "unknown", "perplexity", "without unknown"], [row])


def generate(model: ModelFolder, *, options: GenerateOptions) -> None:
    """Draw texts from a model, word by word.

    Example: [bold]saccade lm generate en-lm --start "the commission" --count 3[/]
    """
    for text in saccade.lm.load(model).generate(**vars(options)):
        put(text)


def export(
    model: ModelFolder,
    out: Annotated[Path, typer.Argument(help="The file to write, in ARPA format.")],
) -> None:
    """Write n-grams in ARPA format, which KenLM and other programs read.

    Example: [bold]saccade lm export en-lm en.arpa[/]
    """
    loaded = saccade.lm.load(model)
    loaded.save_arpa(out)
    say(f"wrote {loaded.ngrams.size:,} n-grams to {out}")


_COMMANDS: dict[str, Command] = {"train": train, "score": score, "generate": generate, "export": export}
for _name, _function in _COMMANDS.items():
    app.command(_name)(command_without_models(_function))
