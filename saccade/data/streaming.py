"""Corpora that need not fit in memory: read in the order of their files, a window of pairs at a time, and cut into
pieces on the way, the same ones each epoch or (subword sampling) others.

A window holds a share of every corpus, in proportion. Its pairs are shuffled and batched by their lengths; the next
window comes when they are used up.
"""

import copy
import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Self

import numpy as np

from saccade.data.cleaning import Verdict
from saccade.data.corpus import PairWindow, SideBuilder, count_passed
from saccade.data.selection import Selection
from saccade.data.sources import TextPair, add_tag
from saccade.errors import UserError
from saccade.text import Vocabularies


class Stream:
    """`buffer` pairs make a window. With `sampling`, a text is cut otherwise each time (`Tokeniser.sample`)."""

    def __init__(
        self,
        selections: Sequence[Selection],
        vocabularies: Vocabularies,
        *,
        weights: Sequence[float] | None = None,
        tags: Sequence[str | None] | None = None,
        buffer: int = 50_000,
        sampling: float = 0.0,
    ) -> None:
        self.selections = selections
        self.weights = weights or [1.0] * len(selections)
        self._vocabularies = vocabularies
        self._tags = tags or [None] * len(selections)
        self._buffer = buffer
        self._sampling = sampling
        self._readers = [_Reader(selection) for selection in selections]
        self._longest = max(selection.longest for selection in selections)
        self._starts = np.cumsum([0, *map(len, selections)])

    def unread(self) -> Self:
        """The same pairs, by files that this one has not opened: a process that draws from it shares no place in them
        with another."""
        fresh = copy.copy(self)
        fresh._readers = [_Reader(selection) for selection in self.selections]
        return fresh

    @property
    def longest(self) -> tuple[int, int]:
        sources, targets = zip(*(selection.longest_sides for selection in self.selections), strict=True)
        return max(sources), max(targets)

    @property
    def tokens(self) -> int:
        return round(sum(one.tokens * weight for one, weight in zip(self.selections, self.weights, strict=True)))

    @property
    def windows(self) -> int:
        pairs = sum(len(selection) * weight for selection, weight in zip(self.selections, self.weights, strict=True))
        return max(1, math.ceil(pairs / self._buffer))

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        done = (epoch - 1) * self.windows + number
        sources, targets, indices = SideBuilder(), SideBuilder(), array("q")
        for which, (selection, weight) in enumerate(zip(self.selections, self.weights, strict=True)):
            verdicts = selection.verdicts.data
            first, last = (count_passed(len(selection), weight, some, self.windows) for some in (done, done + 1))
            for turn, pair in enumerate(self._readers[which].take(first, last), first):
                place = turn % len(selection)
                if verdicts[place] == Verdict.KEPT:
                    source, target = self._ids(add_tag(pair, self._tags[which]), f"{seed} {which} {turn}")
                    sources.append(source)
                    targets.append(target)
                    indices.append(int(self._starts[which]) + place)
        return PairWindow(
            source=sources.side(),
            target=targets.side(),
            places=np.arange(len(indices)),
            indices=np.frombuffer(indices, np.int64),
        )

    def _ids(self, pair: TextPair, seed: str) -> Sequence[list[int]]:
        """Sampled pieces of a text are no more than the longest that is allowed, where its usual ones are not."""
        if not self._sampling:
            return self._vocabularies.encode(pair)
        random = Random(seed)
        sides = self._vocabularies.source, self._vocabularies.target
        ids = []
        for tokeniser, masked in zip(sides, self._vocabularies.mask_pair(*pair), strict=True):
            drawn = tokeniser.sample(masked.text, random, self._sampling)
            ids.append(drawn if len(drawn) <= self._longest else tokeniser.encode(masked.text))
        return ids


_NEAR = 8  # times as many pairs as are wanted are passed over: to seek, a compressed file is read from its beginning


class _Reader:
    """Reads a corpus round and round: on from where it is, or from a little further on, or after a seek."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._place = -1
        self._records: Iterator[tuple[int, int, TextPair]] = iter(())

    def take(self, first: int, last: int) -> Iterator[TextPair]:
        """Pairs of the corpus, repeated without end."""
        size = len(self._selection)
        for turn in range(first, last):
            ahead = turn % size - self._place
            if self._place >= 0 and 0 < ahead <= _NEAR * (last - first):
                next(islice(self._records, ahead - 1, None), None)
            elif ahead:
                self._records = self._selection.records(turn % size)
            place, _, pair = next(self._records, (-1, 0, None))
            if pair is None:
                raise UserError(f"{self._selection.pairs}: has become shorter since training began; put it back")
            self._place = place + 1
            yield pair
