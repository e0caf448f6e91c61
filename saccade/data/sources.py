"""Pairs by what a recipe calls them: a file, two files, or a data set of Hugging Face's."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from saccade.data.formats import Fields, MarkedPairs, PairFiles
from saccade.data.huggingface import PREFIX, HubPairs
from saccade.data.text_files import Mark, TextPair, hash_pairs
from saccade.errors import UserError
from saccade.text import HasTexts


class PairSource(Protocol):
    """Pairs that can be passed over again, from any mark on, a pair in memory at a time."""

    def __iter__(self) -> Iterator[TextPair]: ...
    def marked(self, mark: Mark | None = None) -> MarkedPairs: ...
    def digest(self) -> str: ...
    def size(self) -> int: ...


def open_pairs(
    pairs: str, targets: str | None = None, *, fields: Fields | None = None, reverse: bool = False
) -> PairSource:
    """Nothing is read before it is asked for."""
    found: PairSource
    if pairs.startswith(PREFIX):
        if targets is not None:
            raise UserError(f"{pairs} has both sides; leave {targets} out")
        found = HubPairs(pairs.removeprefix(PREFIX), fields)
    else:
        found = PairFiles(pairs, targets, fields)
    return ReversedPairs(found) if reverse else found


@dataclass(frozen=True)
class ListedPairs:
    """Pairs that are in memory already."""

    pairs: Sequence[HasTexts]

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in self.marked())

    def __str__(self) -> str:
        return "the pairs"

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        first = mark[0] if mark else 1
        rest = islice(self.pairs, first - 1, None)
        return (((number,), TextPair(pair.source, pair.target)) for number, pair in enumerate(rest, first))

    def digest(self) -> str:
        return hash_pairs(self)

    def size(self) -> int:
        return 0


@dataclass(frozen=True)
class ReversedPairs:
    """The same pairs from target to source."""

    pairs: PairSource

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in self.marked())

    def __str__(self) -> str:
        return f"{self.pairs}, reversed"

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        return ((mark, TextPair(pair.target, pair.source)) for mark, pair in self.pairs.marked(mark))

    def digest(self) -> str:
        return f"reversed {self.pairs.digest()}"

    def size(self) -> int:
        return self.pairs.size()
