"""The pairs that a user names or holds: a file, two files, a task's test split, a list, a DataFrame."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from saccade.data.formats import PairFiles
from saccade.data.sources import DEFAULT_FIELDS, TextPair
from saccade.errors import UserError
from saccade.names import task_name

Pairs = str | Path | Iterable[tuple[str, str]] | Any  # Any: a DataFrame of any library


class NamedPairs(NamedTuple):
    """Pairs that can be read several times."""

    name: str
    pairs: Iterable[TextPair]
    alignments: Sequence[frozenset[tuple[int, int]]] | None = None  # the true links, where a task has them

    def complete(self) -> list[TextPair]:
        complete = [pair for pair in self.pairs if all(text.strip() for text in pair)]
        if not complete:
            raise UserError(f"{self.name}: every pair has a blank side; expected texts on both sides")
        return complete


def name_pairs(
    pairs: Pairs,
    targets: str | Path | None = None,
    *,
    count: int = 500,
    seed: int = 1,
    words: tuple[int, int] | None = None,
    split: str = "test",
) -> NamedPairs:
    """Open pairs in any form; `count`, `seed`, `words` (shortest and longest source) and `split` choose those of a
    task."""
    if not isinstance(pairs, str | Path):
        if targets is not None:
            raise UserError(f"the pairs have targets of their own; leave {targets} out")
        return NamedPairs("the pairs", list_pairs(pairs))
    if (task_ := task_name(str(pairs))) is not None:
        if targets is not None:
            raise UserError(f"{pairs} has targets of its own; leave {targets} out")
        from saccade.tasks import task

        drawn = list(task(task_).pairs(count, seed, split=split, words=words))
        links = [frozenset(pair.alignment) for pair in drawn if pair.alignment is not None]
        return NamedPairs(
            f"{pairs}, {split} split, seed {seed}" + ("" if words is None else f", {words[0]} to {words[1]} words"),
            [TextPair(pair.source, pair.target) for pair in drawn],
            links if len(links) == len(drawn) else None,
        )
    if words is not None:
        raise UserError(f"--words {words[0]}-{words[1]} is for a task; {pairs} is used as it is")
    files = PairFiles(str(pairs), targets)
    return NamedPairs(str(files), files.rereadable())


def list_pairs(pairs: Any) -> list[TextPair]:
    """The pairs of a list, or of a DataFrame: its columns source and target, or else its first two."""
    columns = getattr(pairs, "columns", None)
    if columns is not None:
        names = DEFAULT_FIELDS if set(DEFAULT_FIELDS) <= set(columns) else tuple(columns)[:2]
        if len(names) < 2:
            raise UserError(f"a table with the columns {', '.join(map(str, columns))}; expected source and target")
        pairs = zip(pairs[names[0]], pairs[names[1]], strict=True)
    listed = []
    for number, pair in enumerate(pairs, 1):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise UserError(f"pair {number}: {str(pair)[:60]} given, expected (source, target), two texts")
        listed.append(TextPair(*pair))
    return listed
