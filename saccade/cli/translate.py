"""`saccade translate`: lines in, lines out."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from saccade.cli.console import progress_bar, put, say
from saccade.cli.options import Device, ModelFolder, command
from saccade.decode.cluster.options import ClusterOptions
from saccade.decode.engines.options import EngineOptions
from saccade.decode.options import (
    DEFAULT_SEARCH,
    Constraints,
    EnsembleOptions,
    FileOptions,
    RerankingOptions,
    Search,
)
from saccade.trained_model import load

STDIN = "-"


@command
def translate(
    model: ModelFolder,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="A file with one text per line, or *.jsonl with one object per line; - is standard input. Without "
            "a file, on a terminal: type texts and read their translations. With --ray: also *.parquet, or a URL.",
        ),
    ] = STDIN,
    device: Device = "auto",
    *,
    options: FileOptions,
    search: Search = DEFAULT_SEARCH,
    constraints: Constraints,
    rerankers: RerankingOptions,
    ensemble: EnsembleOptions,
    engine: EngineOptions,
    cluster: ClusterOptions,
) -> None:
    """Translate a file, standard input, or the texts that you type: one line of output per line of input.

    Example: [bold]echo "The cat sleeps." | saccade translate my-model -[/]
    """
    is_typed = file == STDIN and sys.stdin.isatty()
    loaded = load(model, device="cpu" if cluster.ray else device, **vars(ensemble))
    hidden = options.out is None and sys.stdout.isatty()  # a bar would run through the lines
    lines, groups = _typed_lines() if is_typed else None, (options, search, constraints, rerankers, engine)
    named = {name: value for group in groups for name, value in vars(group).items()}
    with progress_bar("translating", hidden=hidden or is_typed) as progress:
        if cluster.ray:
            loaded.translate_corpus(file, device=device, progress=progress, **named, **vars(cluster))
            return
        loaded.translate_file(file, lines=lines, write=put, progress=progress, **named)


def _typed_lines() -> Iterator[str]:
    """The lines that a person types, until Ctrl-D or Ctrl-C at the prompt."""
    say("Type a text to translate it; Ctrl-D ends.")
    prompt = "> "
    while True:
        try:
            if not sys.stdout.isatty():  # which holds the translations
                sys.stderr.write(prompt)
                sys.stderr.flush()
            yield input(prompt if sys.stdout.isatty() else "")
        except (EOFError, KeyboardInterrupt):
            sys.stderr.write("\n")
            return
