"""`saccade translate`: lines in, lines out."""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from saccade.cli.console import put, say
from saccade.cli.filling import Filling, filling_options
from saccade.cli.lines import Work, figures
from saccade.cli.picking import Picking, picking_options
from saccade.cli.records import Answer, Input, Record, answer_options, input_options, with_constraints
from saccade.cli.resuming import Journal, Passing, command_of, journal
from saccade.cli.searching import Asked, Members, constraint_options, ensemble_options, search_options, takes
from saccade.errors import UserError, printable
from saccade.locations import is_stdin
from saccade.locking import locked

if TYPE_CHECKING:
    from saccade.decode import Search, Translator
    from saccade.decode.long_texts import TooLong

FIGURES = (".svg", ".png", ".pdf")
_NOT_THE_RESULT = frozenset({"out", "restart", "heatmap", "trust_code"})  # options that do not change the output

Model = Annotated[Path, typer.Argument(help="The folder of a trained model.", show_default=False)]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Tag = Annotated[str | None, typer.Option(help="Put before every line, such as <fr>: what to do with it.")]
ByOption = Annotated[
    str,
    typer.Option(
        "--by",
        help="Show attention by word or by piece; auto: by piece for a model of characters or a source of one word.",
    ),
]
BatchTokens = Annotated[int, typer.Option(help="Pieces × hypotheses at a time: fewer need less memory.", min=1)]


@takes(
    given=input_options,
    answer=answer_options,
    filling=filling_options,
    how=search_options,
    asked=constraint_options,
    members=ensemble_options,
    picking=picking_options,
)
def translate(
    context: typer.Context,
    model: Model,
    out: Annotated[
        Path | None, typer.Option(help="Write here, once all is done; goes on where it was interrupted.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin again, and drop what was interrupted.")] = False,
    too_long: Annotated[
        str,
        typer.Option(help="What the model never saw so long: split (into sentences), split-or-refuse, refuse, keep."),
    ] = "split",
    heatmap: Annotated[bool, typer.Option("--heatmap", help="Show after each line where the model read.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it: out.svg (.png, .pdf); out-1.svg … if many.")] = None,
    by: ByOption = "auto",
    tag: Tag = None,
    tree: Annotated[Path | None, typer.Option(help="Write the tree of each search here: JSON, a line each.")] = None,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
    chunk: Annotated[int, typer.Option(help="Lines that are translated, and saved, at a time.", min=1)] = 512,
    *,
    given: Input,
    answer: Answer | None,
    filling: Filling,
    how: "Search",
    asked: Asked,
    members: Members,
    picking: Picking,
) -> None:
    """Translate a file or standard input: a line out for each line in, blank lines kept.

    Example: [bold]echo "The cat sleeps." | saccade translate my-model -[/]
    """
    if answer is not None and heatmap:
        raise UserError("--jsonl is for programs and --heatmap for people; give one of them")
    if plot is not None and plot.suffix not in FIGURES:
        raise UserError(f"--plot {plot}: expected a name that ends in {', '.join(FIGURES)}")
    for path in filter(None, (out, tree)):
        if path.is_dir():
            raise UserError(f"--{'out' if path is out else 'tree'} {path}: a folder; expected the name of a file")

    from saccade.align.attention import NO_ATTENTION
    from saccade.text.words import parse_unit

    unit = parse_unit(by)
    translator = members.load(model, device)
    if (heatmap or plot is not None) and not translator.attends:
        raise UserError(f"{model}: {NO_ATTENTION}")
    work = Work(
        translator=translator,
        how=how,
        tagged=tagging(tag, translator, model),
        answer=answer,
        too_long=cast("TooLong", too_long),
        batch_tokens=batch_tokens,
        chunk=1 if is_stdin(given.file) and sys.stdin.isatty() else chunk,
        heatmap=heatmap,
        by=unit,
        fill=filling.of(translator, model),
    )
    work.picker = picking.picker(translator, how, device, work.chunk)
    checked, count = _records(given, asked, work)
    records: Iterator[Record] = checked
    if plot is not None:
        records, several = _several(checked, count)
        work.figure = figures(plot, unit, several=several)
    command = {} if out is None else command_of(context, without=_NOT_THE_RESULT)
    command |= {"--device": translator.device.type, "--plot": plot and str(plot), "--tree": tree and str(tree)}
    hidden = count is None or (out is None and sys.stdout.isatty())  # a bar would run through the lines
    kept = outputs(out, command, restart, tree)
    with interruptible(), closing(checked), kept as put, bar("translating", count, hidden=hidden) as advance:
        work.run(records, put, advance, trees=tree is not None)


def tagging(tag: str | None, translator: "Translator", model: Path) -> Callable[[str], str]:
    """What puts the tag before a text; a blank one stays blank."""
    if tag is not None and tag not in (tags := translator.vocabularies.source.tags):
        raise UserError(f"--tag {tag}: the tags that {model} was trained with are {', '.join(tags) or 'none'}")
    return lambda text: text if tag is None or not text.strip() else f"{tag} {text}"


@contextmanager
def bar(what: str, total: int | None, *, hidden: bool = False) -> Iterator[Callable[[int], None]]:
    """Progress on standard error, where that is a terminal; yields what is told of how much more is done."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(escape(printable(what))), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=hidden or not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda more: progress.advance(task, more)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C ends with 1 and one line."""
    try:
        yield
    except KeyboardInterrupt:
        say("saccade: interrupted")
        raise typer.Exit(1) from None


def _records(given: Input, asked: Asked, work: Work) -> tuple[Generator[Record, None, None], int | None]:
    """All to be done, and how many where that can be known before: a file is gone through once, so that a mistake in
    its last line is reported before hours of work, not after."""

    def checked() -> Generator[Record, None, None]:
        for record in with_constraints(given, asked):
            work.check(given, record)
            yield record

    if not given.comes_once:
        count = sum(1 for _ in checked())
        asked.of_lines(count)
        return checked(), count
    if is_stdin(given.file) and sys.stdin.isatty():
        say("type a line to translate it; Ctrl-D ends")
    return checked(), None


def _several(records: Iterator[Record], count: int | None) -> tuple[Iterator[Record], bool]:
    """Whether there are more than one; at a terminal, where nobody waits for the next, there may be."""
    if count is not None or sys.stdin.isatty():
        return records, count != 1
    first = list(islice(records, 2))
    return chain(first, records), len(first) > 1


@contextmanager
def outputs(
    out: Path | None, command: dict[str, Any], restart: bool, tree: Path | None = None
) -> Iterator[Journal | Passing]:
    """Where a command writes: files that the same command goes on with, or standard output."""
    if out is not None:
        with journal({"out": out, **({} if tree is None else {"tree": tree})}, command, restart=restart) as kept:
            yield kept
        return
    with nullcontext(put) if tree is None else written(tree) as keep:
        yield Passing({"out": put, "tree": keep})


@contextmanager
def written(out: Path | None) -> Iterator[Callable[[str], None]]:
    """Where lines go. A file is `out` only when it is whole; what an interrupted run wrote stays beside it."""
    if out is None:
        yield put
        return
    unfinished = out.with_name(f"{out.name}.unfinished")
    with locked(out):
        try:
            with unfinished.open("w", encoding="utf-8", newline="\n") as stream:
                yield lambda line: cast("None", stream.write(line + "\n"))
            unfinished.replace(out)
        except BaseException as error:
            if lines := _whole_lines(unfinished):
                say(f"saccade: the {lines:,} lines that were done are in {unfinished}")
            else:
                unfinished.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise UserError(f"{out}: cannot be written: {error.strerror}") from error
            raise


def _whole_lines(path: Path) -> int:
    """How many lines reached the disk; the beginning of one that did not is cut off."""
    try:
        with path.open("r+b") as stream:
            count, end = 0, 0
            for line in stream:
                if line.endswith(b"\n"):
                    count, end = count + 1, end + len(line)
            stream.truncate(end)
        return count
    except OSError:
        return 0
