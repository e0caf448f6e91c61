"""`saccade score`: how probable a model finds given translations."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.cli.material import Count, Pairs, Seed, Source, pairs_of
from saccade.cli.searching import Members, ensemble_options, takes
from saccade.cli.translating import Device, Model, Tag, bar, interruptible, tagging, written
from saccade.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from saccade.decode.scoring import Scored, Total

VALUES = ("log-prob", "mean", "perplexity")

Targets = Annotated[Path | None, typer.Argument(help="The targets, where PAIRS are the sources.")]
Out = Annotated[Path | None, typer.Option(help="Write here, once all is done; else to standard output.")]
Value = Annotated[str, typer.Option(help="What a line says: log-prob (of all), mean (a piece) or perplexity.")]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Print a JSON object a line: all of these, of pieces and words.")]
Summary = Annotated[Path | None, typer.Option(help="Write what the whole scores here, as JSON.")]
BatchTokens = Annotated[int, typer.Option(help="Pieces at a time: fewer need less memory.", min=1)]


@takes(members=ensemble_options)
def score(
    model: Model,
    pairs: Pairs,
    targets: Targets = None,
    out: Out = None,
    value: Value = "log-prob",
    jsonl: Jsonl = False,
    summary: Summary = None,
    tag: Tag = None,
    count: Count = 500,
    seed: Seed = 1,
    device: Device = "auto",
    batch_tokens: BatchTokens = 4096,
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

    from saccade.decode.scoring import Total, score_pairs

    translator = members.load(model, device)
    tagged, total = tagging(tag, translator, model), Total()
    with interruptible(), TemporaryDirectory() as kept:
        source = pairs_of(pairs, targets, count=count, seed=seed, kept=Path(kept))
        (blank,) = score_pairs(translator, [("", "")])
        lines = _checked(source, {"line", *blank.as_dict()} - {"source", "target"} if jsonl else set())
        given = ((tagged(left), right) for left, right in source.pairs)
        found = zip(score_pairs(translator, given, batch_tokens=batch_tokens), _records(source), strict=False)
        with written(out) as write, bar("scoring", lines, hidden=out is None) as advance:
            for number, (one, record) in enumerate(found, 1):
                write(_line(one, number, record, value, jsonl=jsonl))
                total.add(one)
                advance(1)
    _tell(total, summary, model=str(model), corpus=source.name)


def _checked(source: Source, names: set[str]) -> int:
    """How many pairs there are; a mistake in the last line is reported before hours of work, not after."""
    from saccade.data.reading import mistake

    lines = 0
    for _, record in zip(source.pairs, _records(source), strict=False):
        lines += 1
        if both := sorted(names & record.keys()):
            raise mistake(source.name, lines, f"has a field {both[0]!r}, which the output has, too; rename it")
    return lines


def _records(source: Source) -> "Iterator[Mapping[str, Any]]":
    from itertools import repeat

    from saccade.data import PairFiles

    return source.pairs.records() if isinstance(source.pairs, PairFiles) else repeat({})


def _line(one: "Scored", number: int, record: Mapping[str, Any], value: str, *, jsonl: bool) -> str:
    if jsonl:
        return json.dumps({"line": number, **one.as_dict(), **record}, ensure_ascii=False)
    return f"{getattr(one, value.replace('-', '_')):.6f}"


def _tell(total: "Total", summary: Path | None, **about: str) -> None:
    """On standard error: standard output may hold the scores."""
    typer.echo(
        f"{total.pairs:,} pairs, {total.pieces:,} pieces with ends: log-probability {total.log_prob:.4f}, "
        f"perplexity {total.perplexity:.4f} a piece, {total.word_perplexity:.4f} a word",
        err=True,
    )
    if summary is not None:
        from saccade.files import write_atomically

        write_atomically(summary, json.dumps({**about, **total.as_dict()}, ensure_ascii=False, indent=2) + "\n")
