"""Corpora that need not fit in memory: read in the order of their files, one window of pairs at a time, and tokenised
on the way, the same each epoch or (with subword sampling) differently.

A window has a share of every corpus, in proportion. Its pairs are shuffled and batched by length; then comes the next
window.
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
    """`buffer` pairs make a window. With `sampling`, a text is tokenised differently each time (`Tokeniser.sample`)."""

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

    def with_own_files(self) -> Self:
        """Return a copy that opens its files itself, so that two processes share no position in them."""
        stream = copy.copy(self)
        stream._readers = [_Reader(selection) for selection in self.selections]
        return stream

    @property
    def longest(self) -> tuple[int, int]:
        sources, targets = zip(*(selection.longest_sides for selection in self.selections), strict=True)
        return max(sources), max(targets)

    @property
    def tokens(self) -> int:
        return round(sum(part.tokens * weight for part, weight in zip(self.selections, self.weights, strict=True)))

    @property
    def windows(self) -> int:
        pairs = sum(len(selection) * weight for selection, weight in zip(self.selections, self.weights, strict=True))
        return max(1, math.ceil(pairs / self._buffer))

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        done = (epoch - 1) * self.windows + number
        sources, targets, indices = SideBuilder(), SideBuilder(), array("q")
        for which, (selection, weight) in enumerate(zip(self.selections, self.weights, strict=True)):
            verdicts = selection.verdicts.data
            first, last = (count_passed(len(selection), weight, count, self.windows) for count in (done, done + 1))
            for turn, pair in enumerate(self._readers[which].take(first, last), first):
                place = turn % len(selection)
                if verdicts[place] == Verdict.KEPT:
                    source, target = self._ids(add_tag(pair, self._tags[which]), f"{seed} {which} {turn}")
                    sources.append(source)
                    targets.append(target)
                    indices.append(int(self._starts[which]) + place)
        return PairWindow(
            source=sources.build(),
            target=targets.build(),
            places=np.arange(len(indices)),
            indices=np.frombuffer(indices, np.int64),
        )

    def _ids(self, pair: TextPair, seed: str) -> Sequence[list[int]]:
        """A sampled text that would be too long gets its usual tokens."""
        if not self._sampling:
            return self._vocabularies.encode(pair)
        random = Random(seed)
        sides = self._vocabularies.source, self._vocabularies.target
        ids = []
        for tokeniser, masked in zip(sides, self._vocabularies.mask_pair(*pair), strict=True):
            sampled = tokeniser.sample(masked.text, random, self._sampling)
            ids.append(sampled if len(sampled) <= self._longest else tokeniser.encode(masked.text))
        return ids


_NEAR = (
    8  # up to so many times the requested pairs are skipped by reading; a seek reads compressed files from the start
)


class _Reader:
    """Reads a corpus again and again: on from its position, from a little further on, or after a seek."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._place = -1
        self._records: Iterator[tuple[int, int, TextPair]] = iter(())

    def take(self, first: int, last: int) -> Iterator[TextPair]:
        """Read the pairs from `first` to `last` of the corpus repeated without end."""
        size = len(self._selection)
        for turn in range(first, last):
            ahead = turn % size - self._place
            if self._place >= 0 and 0 < ahead <= _NEAR * (last - first):
                next(islice(self._records, ahead - 1, None), None)
            elif ahead:
                self._records = self._selection.records(turn % size)
            place, _, pair = next(self._records, (-1, 0, None))
            if pair is None:
                raise UserError(f"{self._selection.pairs}: has become shorter since training began; restore it")
            self._place = place + 1
            yield pair
