"""`saccade lm`: train a language model, score texts with it, let it write, and look at its attention."""

import json
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

import saccade.lm
from saccade.cli.console import print_table, put, say, to_json
from saccade.cli.options import Command, Device, Json, Only, command, command_without_models
from saccade.cli.train import report
from saccade.decode.options import Constraints, Search
from saccade.lm.options import DRAWING, AttendOptions, GenerateOptions, LanguageTraining

app = typer.Typer(
    help="Train language models (n-grams, or networks such as GPT), score texts, and generate.\n\n"
    "Example: [bold]saccade lm train europarl.en.gz --out en-lm[/]",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder of `saccade lm train`.")]
Drawing = Annotated[
    Search,
    Only(
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "no_repeat",
        "repeats",
        "shortest",
        "longest",
        "length_penalty",
        "seed",
    ),
]


def train(*, options: LanguageTraining, as_json: Json = False) -> None:
    """Learn a language model from a text.

    By default, counts n-grams and smooths them; with --model, trains a network.

    Example: [bold]saccade lm train europarl.en.gz --out en-lm --model radford2018 --budget 10m[/]
    """
    result = saccade.lm.train_language_model(options)
    if not isinstance(result, saccade.lm.NgramModel):
        report(result, as_json)
    elif as_json:
        put(to_json({"folder": str(options.folder), "ngrams": result.ngrams.size, "words": len(result.words)}))
    else:
        say(f"{result.ngrams.size:,} n-grams of {len(result.words):,} words; the model is in {options.folder}")


def score(
    model: ModelFolder,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Files with one text per line, or -.")],
    per_line: Annotated[bool, typer.Option("--per-line", help="Print the log-probability of each line.")] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Report the perplexity of texts; or the natural logarithm of the probability of each line.

    Example: [bold]saccade lm score en-lm test.en[/]
    """
    loaded = saccade.lm.load(model, device=device)
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
    row = [f"{total.texts:,}", f"{total.tokens:,}", f"{total.unknown:,}", f"{total.perplexity:.2f}"]
    row += [f"{total.known_perplexity:.2f}", f"{total.word_perplexity:.2f}", f"{total.bits_per_character:.3f}"]
    columns = ["texts", "tokens", "unknown", "perplexity", "without unknown", "per word", "bits per character"]
    print_table(columns, [row])


def generate(
    model: ModelFolder,
    device: Device = "auto",
    *,
    options: GenerateOptions,
    search: Drawing = DRAWING,
    constraints: Annotated[Constraints, Only("outline", "include", "exclude")],
) -> None:
    """Draw texts from a model, token by token.

    Example: [bold]saccade lm generate en-lm --start "the commission" --count 3[/]
    """
    for text in saccade.lm.generate_texts(saccade.lm.load(model, device=device), options, search, constraints):
        put(text)


def attend(
    model: ModelFolder,
    text: Annotated[str, typer.Argument(help="The text that the model reads.")],
    device: Device = "auto",
    *,
    options: AttendOptions,
) -> None:
    """Show what a network read of the text before each of its tokens.

    Example: [bold]saccade lm attend my-gpt "the commission has not yet replied ." --plot heatmap.svg[/]
    """
    attention = saccade.lm.load_network(model, device=device).attend(text)
    if options.plot is None:
        attention.show(layer=options.layer, head=options.head)
        return
    attention.save(options.plot, layer=options.layer, head=options.head, lang=options.lang, say=say)
    say(f"wrote {options.plot}")


def export(
    model: ModelFolder,
    out: Annotated[Path, typer.Argument(help="The file to write, in ARPA format.")],
) -> None:
    """Write n-grams in ARPA format, which KenLM and other programs read.

    Example: [bold]saccade lm export en-lm en.arpa[/]
    """
    loaded = saccade.lm.load_ngrams(model)
    loaded.save_arpa(out)
    say(f"wrote {loaded.ngrams.size:,} n-grams to {out}")


_COMMANDS: dict[str, Command] = {"train": train, "export": export}
_WITH_MODELS: dict[str, Command] = {"score": score, "generate": generate, "attend": attend}
for _name, _function in _COMMANDS.items():
    app.command(_name)(command_without_models(_function))
for _name, _function in _WITH_MODELS.items():
    app.command(_name)(command(_function))
