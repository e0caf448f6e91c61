"""`saccade score`: how probable a model finds given translations."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.cli.console import say
from saccade.cli.material import Count, Pairs, Seed
from saccade.cli.resuming import command_of
from saccade.cli.searching import Members, ensemble_options, takes
from saccade.cli.translate import Device, Model, Tag, bar, interruptible, outputs, tagging
from saccade.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from saccade.align.pairs import PairInput
    from saccade.data import TextPair
    from saccade.decode.scoring import PairScore, ScoreTotals

    Given = tuple[TextPair, Mapping[str, Any]]  # a pair, and what else its line held

_NOT_THE_RESULT = frozenset({"out", "restart", "summary"})  # options that change nothing in what is written
VALUES = ("log-prob", "mean", "perplexity")

Targets = Annotated[Path | None, typer.Argument(help="The targets, where PAIRS are the sources.")]
Out = Annotated[Path | None, typer.Option(help="Write here, once all is done; goes on where it was interrupted.")]
Restart = Annotated[bool, typer.Option("--restart", help="Begin again, and drop what was interrupted.")]
Value = Annotated[str, typer.Option(help="What a line says: log-prob (of all), mean (a piece) or perplexity.")]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Print a JSON object a line: all of these, of pieces and words.")]
Summary = Annotated[Path | None, typer.Option(help="Write what the whole scores here, as JSON.")]
Chunk = Annotated[int, typer.Option(help="Pairs that are scored, and saved, at a time.", min=1)]
BatchTokens = Annotated[int, typer.Option(help="Pieces at a time: fewer need less memory.", min=1)]


@takes(members=ensemble_options)
def score(
    context: typer.Context,
    model: Model,
    pairs: Pairs,
    targets: Targets = None,
    out: Out = None,
    restart: Restart = False,
    value: Value = "log-prob",
    jsonl: Jsonl = False,
    summary: Summary = None,
    tag: Tag = None,
    count: Count = 500,
    seed: Seed = 1,
    device: Device = "auto",
    batch_tokens: BatchTokens = 4096,
    chunk: Chunk = 512,
    *,
    members: Members,
) -> None:
    """Score given translations: the log-probability that the model gives each, a line a pair; what all of them come to
    is said at the end.

    Example: [bold]saccade score my-model pairs.tsv --jsonl --out scores.jsonl[/]
    """
    if value not in VALUES:
        raise UserError(f"--value {value}: expected {', '.join(VALUES)}")
    if out is not None and out.is_dir():
        raise UserError(f"--out {out}: a folder; expected the name of a file")

    from saccade.align.pairs import open_pair_input
    from saccade.decode.scoring import ScoreTotals, score_pairs

    translator = members.load(model, device)
    tagged = tagging(tag, translator, model)
    command = {} if out is None else command_of(context, without=_NOT_THE_RESULT)
    command |= {"--device": translator.device.type}
    with interruptible(), TemporaryDirectory() as kept:
        source = open_pair_input(pairs, targets, count=count, seed=seed, buffer=Path(kept))
        (blank,) = score_pairs(translator, [("", "")])
        lines = _checked(source, {"line", *blank.as_dict()} - {"source", "target"} if jsonl else set())
        with outputs(out, command, restart) as put, bar("scoring", lines, hidden=out is None) as advance:
            total = ScoreTotals(**put.state)
            left = put.after_those_done(zip(source.pairs, _records(source), strict=False), _mark)
            advance(put.lines)
            waiting: deque[Given] = deque()
            results = score_pairs(translator, _texts(left, tagged, waiting), batch_tokens=batch_tokens, chunk=chunk)
            for number, one in enumerate(results, put.lines + 1):
                given = waiting.popleft()
                put.write("out", _line(one, number, given[1], value, jsonl=jsonl))
                put.note(_mark(given))
                total.add(one)
                advance(1)
                if not waiting:  # all that was scored together
                    put.commit(number, vars(total))
    _tell(total, summary, model=str(model), corpus=source.name)


def _texts(
    left: "Iterator[Given]", tagged: Callable[[str], str], waiting: "deque[Given]"
) -> "Iterator[tuple[str, str]]":
    """What the model is given of each pair, which waits for its score meanwhile."""
    for given in left:
        waiting.append(given)
        yield tagged(given[0].source), given[0].target


def _mark(given: "Given") -> str:
    return json.dumps([*given[0], given[1]])


def _checked(source: "PairInput", names: set[str]) -> int:
    """How many pairs there are; a mistake in the last line is reported before hours of work, not after."""
    from saccade.data.text_files import line_error

    lines = 0
    for _, record in zip(source.pairs, _records(source), strict=False):
        lines += 1
        if both := sorted(names & record.keys()):
            raise line_error(source.name, lines, f"has a field {both[0]!r}, which the output has, too; rename it")
    return lines


def _records(source: "PairInput") -> "Iterator[Mapping[str, Any]]":
    from itertools import repeat

    from saccade.data import PairFiles

    return source.pairs.records() if isinstance(source.pairs, PairFiles) else repeat({})


def _line(one: "PairScore", number: int, record: Mapping[str, Any], value: str, *, jsonl: bool) -> str:
    if jsonl:
        return json.dumps({"line": number, **one.as_dict(), **record}, ensure_ascii=False)
    return f"{getattr(one, value.replace('-', '_')):.6f}"


def _tell(total: "ScoreTotals", summary: Path | None, **about: str) -> None:
    """On standard error: standard output may hold the scores."""
    say(
        f"{total.pairs:,} pairs, {total.pieces:,} pieces with ends: log-probability {total.log_prob:.4f}, "
        f"perplexity {total.perplexity:.4f} a piece, {total.word_perplexity:.4f} a word"
    )
    if summary is not None:
        from saccade.files import write_json

        write_json(summary, {**about, **total.as_dict()})
