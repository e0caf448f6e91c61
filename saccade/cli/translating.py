"""`saccade translate`: lines in, lines out."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saccade.cli.searching import Asked, Members, constraint_options, ensemble_options, search_options, takes
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.decode import Search, Translation

STDIN = "-"
FIGURES = (".svg", ".png", ".pdf")

Model = Annotated[Path, typer.Argument(help="The folder of a trained model.", show_default=False)]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
BatchTokens = Annotated[int, typer.Option(help="Pieces × hypotheses at a time: fewer need less memory.", min=1)]


@takes(how=search_options, asked=constraint_options, members=ensemble_options)
def translate(
    model: Model,
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A text a line; - is standard input.")] = STDIN,
    out: Annotated[Path | None, typer.Option(help="Write here, once all is done; else to standard output.")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print a JSON object a line, with alignment.")] = False,
    heatmap: Annotated[bool, typer.Option("--heatmap", help="Show after each line where the model read.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it: out.svg (.png, .pdf); out-1.svg … if many.")] = None,
    tag: Annotated[str | None, typer.Option(help="Put before every line, such as <fr>: what to do with it.")] = None,
    tree: Annotated[Path | None, typer.Option(help="Write the tree of each search here: JSON, a line each.")] = None,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
    *,
    how: "Search",
    asked: Asked,
    members: Members,
) -> None:
    """Translate a file or standard input: a line out for each line in, blank lines kept.

    Example: [bold]echo "The cat sleeps." | saccade translate my-model -[/]
    """
    if jsonl and heatmap:
        raise UserError("--jsonl is for programs and --heatmap for people; give one of them")
    if plot is not None and plot.suffix not in FIGURES:
        raise UserError(f"--plot {plot}: expected a name that ends in {', '.join(FIGURES)}")
    if out is not None and out.is_dir():
        raise UserError(f"--out {out}: a folder; expected the name of a file")

    from saccade.decode.translation import NO_ATTENTION

    translator = members.load(model, device)
    if (heatmap or plot is not None) and not translator.attends:
        raise UserError(f"{model}: {NO_ATTENTION}")
    if tag is not None and tag not in (tags := translator.vocabularies.source.tags):
        raise UserError(f"--tag {tag}: the tags that {model} was trained with are {', '.join(tags) or 'none'}")
    lines, count = _lines(file, counted=plot is not None)
    if tag is not None:
        lines = (f"{tag} {line}" if line.strip() else line for line in lines)
    figure = None if plot is None else _figures(plot, several=count != 1)
    results = translator.translate_stream(
        lines,
        how,
        constraints=asked.of_lines(count),
        record=tree is not None,
        batch_tokens=batch_tokens,
        weights=jsonl or heatmap or plot is not None,
        **({"chunk": 1} if file == STDIN and sys.stdin.isatty() else {}),
    )
    hidden = count is None or (out is None and sys.stdout.isatty())  # a bar would run through the lines
    kept = nullcontext() if tree is None else written(tree)
    with interruptible(), written(out) as write, kept as keep, bar("translating", count, hidden=hidden) as advance:
        for number, result in enumerate(results, 1):
            write(_shown(result, number, jsonl=jsonl, n_best=how.n_best))
            if keep is not None:
                keep(json.dumps({"line": number, **(result.tree.as_dict() if result.tree else {})}, ensure_ascii=False))
            for note in (*result.notes, *(f"not met: {reason}" for reason in result.unmet)):
                typer.echo(f"saccade: line {number}: {note}", err=True)
            if heatmap and result.text.strip():
                result.show()
            if figure is not None:
                figure(result, number)
            advance(1)


@contextmanager
def bar(what: str, total: int | None, *, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """Progress on standard error, where that is a terminal; yields what is told of how much more is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=hidden or not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda more: progress.advance(task, more)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends with 1 and one line."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("saccade: interrupted", err=True)
        raise typer.Exit(1) from None


def _lines(file: str, *, counted: bool) -> tuple[Iterable[str], int | None]:
    """The lines, and how many where that can be known before: a file is read once to count, so that a mistake in its
    last line is reported before hours of work, not after."""
    from saccade.data import read_lines

    if file != STDIN and not Path(file).is_fifo():
        return read_lines(file), sum(1 for _ in read_lines(file))
    if counted:
        lines = list(read_lines(file))
        return lines, len(lines)
    if sys.stdin.isatty():
        typer.echo("type a line to translate it; Ctrl-D ends", err=True)
    return read_lines(file), None


@contextmanager
def written(out: Path | None) -> Iterator[Callable[[str], None]]:
    """Where lines go. A file is `out` only when it is whole; what an interrupted run wrote stays beside it."""
    if out is None:
        yield typer.echo
        return
    unfinished = out.with_name(f"{out.name}.unfinished")
    lines = 0

    def write(line: str) -> None:
        nonlocal lines
        stream.write(line + "\n")
        lines += 1

    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as stream:
            yield write
        unfinished.replace(out)
    except BaseException as error:
        if lines:
            typer.echo(f"saccade: the {lines} lines that were done are in {unfinished}", err=True)
        else:
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UserError(f"{out}: cannot be written: {error.strerror}") from error
        raise


def _shown(result: "Translation", number: int, *, jsonl: bool, n_best: int) -> str:
    if jsonl:
        return json.dumps({"line": number, **result.as_dict()}, ensure_ascii=False, allow_nan=False)
    if n_best == 1:
        return result.text
    return "\n".join(f"{number}\t{one.score:.4f}\t{one.text}" for one in (result, *result.alternatives))


def _figures(path: Path, *, several: bool) -> Callable[["Translation", int], None]:
    """Draws a translation to `path`, or each of several to a numbered one."""

    def draw(result: "Translation", number: int) -> None:
        if not result.text.strip():
            return
        place = path.with_stem(f"{path.stem}-{number}") if several else path
        result.plot()
        from matplotlib import pyplot

        try:
            pyplot.savefig(place)
        except OSError as error:
            raise UserError(f"{place}: cannot be written: {error.strerror}") from error
        finally:
            pyplot.close()

    return draw
