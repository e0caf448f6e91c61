"""Pairs to align or to evaluate on: from files, from a task, or from a list; a task may bring gold alignments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.align.links import GoldLinks
from saccade.data import PairFiles, TextPair
from saccade.errors import UserError
from saccade.locations import task_name
from saccade.tasks import task

Pairs = str | Path | Iterable[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class PairInput:
    """Pairs that can be read repeatedly, one line at a time."""

    name: str
    pairs: Iterable[TextPair]
    gold: Sequence[GoldLinks] | None = None  # from a task


def open_pair_input(
    pairs: Pairs,
    targets: str | Path | None = None,
    *,
    count: int = 500,
    seed: int = 1,
    words: tuple[int, int] | None = None,
    buffer: Path | None = None,
) -> PairInput:
    """Open a file, two files, `task:NAME`, or pairs in memory. `count`, `seed` and `words` (shortest and longest
    source) are for a task.

    Standard input and pipes, which can be read only once, are copied into the folder `buffer` if it is given.
    """
    if not isinstance(pairs, str | Path):
        return PairInput(name="the pairs", pairs=[TextPair(*pair) for pair in pairs])
    given = str(pairs)
    name = task_name(given)
    if name is None:
        if words is not None:
            raise UserError(f"--words {words[0]}-{words[1]} is for a task; {given} is used as it is")
        files = PairFiles(given, targets)
        return PairInput(name=str(files), pairs=files if buffer is None else files.buffered_in(buffer))
    if targets is not None:
        raise UserError(f"{given} has its own targets; leave out {targets}")
    lengths = {} if words is None else {"words": words}
    drawn = list(task(name).pairs(count, seed, split="test", **lengths))
    gold = [GoldLinks.all_sure(pair.alignment) for pair in drawn if pair.alignment is not None]
    return PairInput(
        name=f"{given}, test split, seed {seed}" + ("" if words is None else f", {words[0]} to {words[1]} words"),
        pairs=[TextPair(pair.source, pair.target) for pair in drawn],
        gold=gold if len(gold) == len(drawn) else None,
    )


def refuse_second_gold(pairs: PairInput, gold: Path | None) -> None:
    if gold is not None and task_name(pairs.name) is not None:
        raise UserError(f"{pairs.name.split(',')[0]} brings its own gold alignments; leave out {gold}")
