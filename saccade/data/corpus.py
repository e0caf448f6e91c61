"""Encoded pairs, in memory or streamed, and the windows that batches are cut from.

A side of a corpus is two arrays: all token ids one after another, and where each text begins. They are in memory or
mapped from files, so that an encoded corpus may be larger than memory.

A stream need not fit in memory or on disk: its files are read in order, one window of pairs at a time, with a share of
every corpus in proportion, and tokenised on the way, the same each epoch or (with subword sampling) differently.

Batches are cut from one window at a time. An epoch is one window of a corpus in memory, or many windows of a stream. A
window depends on (seed, epoch, its number) alone, so that three numbers are a position in the training data.
"""

import copy
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from saccade.data.cache import DamagedError, load_arrays, save_arrays
from saccade.data.cleaning import CleaningReport, LeftOut, Verdict
from saccade.data.selection import Selection
from saccade.data.sources import TextPair, add_tag
from saccade.errors import UserError
from saccade.text import Vocabularies

_ARRAYS = ("source_ids", "source_offsets", "target_ids", "target_offsets", "lines")
# Up to so many times the requested pairs are skipped by reading; a seek reads compressed files from the start.
_NEAR = 8

Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


class Side(NamedTuple):
    ids: Ids
    offsets: Places  # one more than there are texts

    @property
    def lengths(self) -> Places:
        return np.diff(self.offsets)

    def __call__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def join(self, places: Places) -> tuple[Ids, Places]:
        """Return the ids of several texts, one text after another, and the length of each."""
        starts = self.offsets[places]
        lengths = self.offsets[places + 1] - starts
        before = np.cumsum(lengths) - lengths
        return self.ids[np.repeat(starts - before, lengths) + np.arange(lengths.sum())], lengths


@dataclass(frozen=True)
class JoinedSides:
    """The texts of several corpora, one corpus after another."""

    sides: Sequence[Side]
    starts: Places

    @property
    def lengths(self) -> Places:
        return np.concatenate([side.lengths for side in self.sides])

    def __call__(self, place: int) -> Ids:
        which = int(np.searchsorted(self.starts, place, "right")) - 1
        return self.sides[which](place - int(self.starts[which]))

    def join(self, places: Places) -> tuple[Ids, Places]:
        which = np.searchsorted(self.starts, places, "right") - 1
        parts = [side.join(places[which == k] - self.starts[k]) for k, side in enumerate(self.sides)]
        lengths = np.empty(len(places), np.int64)
        for k, part in enumerate(parts):
            lengths[which == k] = part[1]
        ids = np.empty(lengths.sum(), np.int32)
        for k, part in enumerate(parts):
            ids[np.repeat(which == k, lengths)] = part[0]
        return ids, lengths


@dataclass(frozen=True, kw_only=True)
class PairWindow:
    source: Side | JoinedSides
    target: Side | JoinedSides
    places: Places  # of the pairs to batch; a place may occur several times
    indices: Places | None = None  # the index of the pair at each place; None: the place itself
    ends: Places | None = None  # the token with which the target at each place ends; None: eos


class PairCollector:
    """Four bytes per token."""

    def __init__(self) -> None:
        self._indices, self._sides = array("q"), [(array("i"), array("q", [0])) for _ in range(2)]

    def add(self, index: int, texts: Sequence[Iterable[int]]) -> None:
        self._indices.append(index)
        for (ids, offsets), text in zip(self._sides, texts, strict=True):
            ids.extend(text)
            offsets.append(len(ids))

    def build(self) -> tuple[Side, Side, Places]:
        source, target = (Side(np.frombuffer(ids, np.int32), np.frombuffer(at, np.int64)) for ids, at in self._sides)
        return source, target, np.frombuffer(self._indices, np.int64)


def count_passed(pairs: int, weight: float, done: int, windows: int) -> int:
    """Count the pairs of a corpus that were used in the first `done` windows, if each epoch has `windows` of them and
    uses the corpus `weight` times. The count may exceed the corpus, which then starts again."""
    return int(pairs * Fraction(str(weight)) * done / windows)


@dataclass(frozen=True)
class Corpus:
    """Token ids without bos and eos, which a batch adds. `lines` has the line of each pair in its file."""

    source: Side
    target: Side
    lines: Places
    report: CleaningReport
    windows = 1  # in an epoch

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def encode(
        cls, selection: Selection, vocabularies: Vocabularies, *, longest: int = 256, tag: str | None = None
    ) -> Self:
        """Encode the pairs with at most `longest` tokens on each side."""
        collector = PairCollector()

        def judge(line: int, pair: TextPair) -> Verdict:
            texts = vocabularies.encode(add_tag(pair, tag))
            if max(map(len, texts)) > longest:
                return Verdict.TOO_LONG
            collector.add(line, texts)
            return Verdict.KEPT

        report = selection.revise(judge, longest).report()
        if not report.kept:
            advice = "pairs with text on both sides" if report.unit == "pair" else "a text"
            raise UserError(f"no {report.unit} is left: {report}; give {advice}, or allow longer ones")
        return cls(*collector.build(), report)

    @property
    def longest_sides(self) -> tuple[int, int]:
        """The most tokens of a source and of a target."""
        return int(self.source.lengths.max()), int(self.target.lengths.max())

    @property
    def tokens(self) -> int:
        """The tokens of an epoch, counting the longer side of each pair."""
        return int(np.maximum(self.source.lengths, self.target.lengths).sum())

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        return PairWindow(source=self.source, target=self.target, places=np.arange(len(self)))

    def save(self, folder: Path) -> None:
        arrays = (*self.source, *self.target, self.lines)
        save_arrays(folder, dict(zip(_ARRAYS, arrays, strict=True)), asdict(self.report))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map a saved corpus from its files; raise DamagedError unless every byte is as it was saved."""
        arrays, about = load_arrays(folder)
        try:
            left_out = tuple(LeftOut(why, count, tuple(first)) for why, count, first in about["left_out"])
            report = CleaningReport(kept=about["kept"], left_out=left_out, unit=about["unit"])
            source_ids, source_offsets, target_ids, target_offsets, lines = (arrays[name] for name in _ARRAYS)
            return cls(Side(source_ids, source_offsets), Side(target_ids, target_offsets), lines, report)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{folder}: {error}") from error


class _Weighted:
    """Several corpora, each used `weight` times per epoch: with 1.5, the next epoch continues in the middle."""

    def __init__(self, parts: Sequence[Corpus | Selection], weights: Sequence[float] | None) -> None:
        self.weights = weights or [1.0] * len(parts)
        self._parts, self._starts = parts, np.cumsum([0, *map(len, parts)])

    @property
    def longest_sides(self) -> tuple[int, int]:
        source, target = (max(sides) for sides in zip(*(part.longest_sides for part in self._parts), strict=True))
        return source, target

    @property
    def tokens(self) -> int:
        """The tokens of an epoch, counting the longer side of each pair; an estimate for a stream."""
        return round(sum(part.tokens * weight for part, weight in zip(self._parts, self.weights, strict=True)))


class Mixture(_Weighted):
    """Several corpora in memory. One pass over a corpus has every pair once, in an order of its own."""

    windows = 1

    def __init__(self, corpora: Sequence[Corpus], weights: Sequence[float]) -> None:
        super().__init__(corpora, weights)
        self.corpora = corpora

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        starts = self._starts[:-1]
        places = [
            start + _places_in_epoch(len(corpus), weight, (seed, which), epoch)
            for which, (corpus, weight, start) in enumerate(zip(self.corpora, self.weights, starts, strict=True))
        ]
        return PairWindow(
            source=JoinedSides([corpus.source for corpus in self.corpora], starts),
            target=JoinedSides([corpus.target for corpus in self.corpora], starts),
            places=np.concatenate(places),
        )


def _places_in_epoch(pairs: int, weight: float, seed: tuple[int, int], epoch: int) -> Places:
    first, last = count_passed(pairs, weight, epoch - 1, 1), count_passed(pairs, weight, epoch, 1)
    passes = range(first // pairs, -(-last // pairs))
    orders = [np.random.default_rng((*seed, number)).permutation(pairs) for number in passes]
    start = first - passes.start * pairs
    return np.concatenate([np.empty(0, np.int64), *orders])[start : start + last - first]


class Stream(_Weighted):
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
        super().__init__(selections, weights)
        self.selections = selections
        self._vocabularies, self._buffer, self._sampling = vocabularies, buffer, sampling
        self._tags = tags or [None] * len(selections)
        self._readers = [_Reader(selection) for selection in selections]

    def with_own_files(self) -> Self:
        """Return a copy that opens its files itself, so that two processes share no position in them."""
        stream = copy.copy(self)
        stream._readers = [_Reader(selection) for selection in self.selections]
        return stream

    @property
    def windows(self) -> int:
        pairs = sum(len(selection) * weight for selection, weight in zip(self.selections, self.weights, strict=True))
        return max(1, math.ceil(pairs / self._buffer))

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        done = (epoch - 1) * self.windows + number
        collector = PairCollector()
        for which, (selection, weight) in enumerate(zip(self.selections, self.weights, strict=True)):
            verdicts = selection.verdicts.data
            first, last = (count_passed(len(selection), weight, count, self.windows) for count in (done, done + 1))
            for turn, pair in enumerate(self._readers[which].take(first, last), first):
                place = turn % len(selection)
                if verdicts[place] == Verdict.KEPT:
                    texts = self._encode(add_tag(pair, self._tags[which]), f"{seed} {which} {turn}")
                    collector.add(int(self._starts[which]) + place, texts)
        source, target, indices = collector.build()
        return PairWindow(source=source, target=target, places=np.arange(len(indices)), indices=indices)

    def _encode(self, pair: TextPair, seed: str) -> Sequence[list[int]]:
        """A sampled text that would be too long gets its usual tokens."""
        if not self._sampling:
            return self._vocabularies.encode(pair)
        random, longest = Random(seed), max(selection.longest for selection in self.selections)
        sides = self._vocabularies.source, self._vocabularies.target
        texts = []
        for tokeniser, masked in zip(sides, self._vocabularies.mask_pair(*pair), strict=True):
            sampled = tokeniser.sample(masked.text, random, self._sampling)
            texts.append(sampled if len(sampled) <= longest else tokeniser.encode(masked.text))
        return texts


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


WindowSource = Corpus | Mixture | Stream
