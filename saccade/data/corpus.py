"""Encoded pairs in memory, and the windows that batches are cut from.

A side of a corpus is two arrays: all token ids one after another, and where each text begins. They are in memory or
mapped from files, so that an encoded corpus may be larger than memory.

Batches are cut from one window at a time. An epoch is one window of a corpus in memory, or many windows of a stream. A
window depends on (seed, epoch, its number) alone, so that three numbers are a position in the training data.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from saccade.data.cache import DamagedError, load_arrays, save_arrays
from saccade.data.cleaning import CleaningReport, LeftOut, Verdict
from saccade.data.selection import Selection
from saccade.data.sources import TextPair, add_tag
from saccade.errors import UserError
from saccade.text import Vocabularies

_ARRAYS = ("source_ids", "source_offsets", "target_ids", "target_offsets", "lines")
Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


class EncodedTexts(Protocol):
    @property
    def lengths(self) -> Places: ...
    def __call__(self, place: int, /) -> Ids: ...


@dataclass(frozen=True, kw_only=True)
class PairWindow:
    source: EncodedTexts
    target: EncodedTexts
    places: Places  # of the pairs to batch; a place may occur several times
    indices: Places | None = None  # the index of the pair at each place; None: the place itself


class WindowSource(Protocol):
    @property
    def longest(self) -> tuple[int, int]:
        """The most tokens of a source and of a target."""

    @property
    def tokens(self) -> int:
        """The tokens of an epoch, counting the longer side of each pair; an estimate for a stream."""

    @property
    def windows(self) -> int:
        """The number of windows in an epoch."""

    def window(self, seed: int, epoch: int, number: int) -> PairWindow: ...


def count_passed(pairs: int, weight: float, done: int, windows: int) -> int:
    """Count the pairs of a corpus that were used in the first `done` windows, if each epoch has `windows` of them and
    uses the corpus `weight` times. The count may exceed the corpus, which then starts again."""
    return int(pairs * Fraction(str(weight)) * done / windows)


class Side(NamedTuple):
    ids: Ids
    offsets: Places  # one more than there are texts

    @property
    def lengths(self) -> Places:
        return np.diff(self.offsets)

    def __call__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


class SideBuilder:
    """Collects texts, at four bytes per token."""

    def __init__(self) -> None:
        self._ids, self._offsets = array("i"), array("q", [0])

    def append(self, text: Iterable[int]) -> None:
        self._ids.extend(text)
        self._offsets.append(len(self._ids))

    def build(self) -> Side:
        return Side(np.frombuffer(self._ids, np.int32), np.frombuffer(self._offsets, np.int64))


@dataclass(frozen=True)
class JoinedSides:
    """The texts of several corpora, one corpus after another."""

    sides: Sequence[EncodedTexts]
    starts: Places

    @property
    def lengths(self) -> Places:
        return np.concatenate([side.lengths for side in self.sides])

    def __call__(self, place: int) -> Ids:
        which = int(np.searchsorted(self.starts, place, "right")) - 1
        return self.sides[which](place - int(self.starts[which]))


@dataclass(frozen=True)
class Corpus:
    """Token ids without bos and eos, which a batch adds. `lines` has the line of each pair in its file."""

    source: Side
    target: Side
    lines: Places
    report: CleaningReport

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def encode(
        cls, selection: Selection, vocabularies: Vocabularies, *, longest: int = 256, tag: str | None = None
    ) -> Self:
        """Encode the pairs with at most `longest` tokens on each side."""
        sources, targets, lines = SideBuilder(), SideBuilder(), array("q")

        def judge(line: int, pair: TextPair) -> Verdict:
            source, target = vocabularies.encode(add_tag(pair, tag))
            if max(len(source), len(target)) > longest:
                return Verdict.TOO_LONG
            lines.append(line)
            sources.append(source)
            targets.append(target)
            return Verdict.KEPT

        report = selection.revise(judge, longest).report()
        if not lines:
            raise UserError(f"no pair is left: {report}; give pairs with text on both sides, or allow longer ones")
        return cls(sources.build(), targets.build(), np.frombuffer(lines, np.int64), report)

    @property
    def longest(self) -> tuple[int, int]:
        return int(self.source.lengths.max()), int(self.target.lengths.max())

    @property
    def tokens(self) -> int:
        return int(np.maximum(self.source.lengths, self.target.lengths).sum())

    @property
    def windows(self) -> int:
        return 1

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        return PairWindow(source=self.source, target=self.target, places=np.arange(len(self)))

    def save(self, folder: Path) -> None:
        arrays: list[npt.NDArray[Any]] = [*self.source, *self.target, self.lines]
        save_arrays(folder, dict(zip(_ARRAYS, arrays, strict=True)), asdict(self.report))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Map a saved corpus from its files; raise DamagedError unless every byte is as it was saved."""
        arrays, about = load_arrays(folder)
        try:
            left_out = tuple(LeftOut(why, count, tuple(first)) for why, count, first in about["left_out"])
            report = CleaningReport(kept=about["kept"], left_out=left_out)
            source_ids, source_offsets, target_ids, target_offsets, lines = (arrays[name] for name in _ARRAYS)
            return cls(Side(source_ids, source_offsets), Side(target_ids, target_offsets), lines, report)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{folder}: {error}") from error


@dataclass(frozen=True)
class Mixture:
    """Several corpora, each used `weight` times per epoch: with 1.5, the next epoch continues in the middle. One pass
    over a corpus has every pair once, in an order of its own."""

    corpora: Sequence[Corpus]
    weights: Sequence[float]

    @property
    def longest(self) -> tuple[int, int]:
        source, target = (max(sides) for sides in zip(*(corpus.longest for corpus in self.corpora), strict=True))
        return source, target

    @property
    def tokens(self) -> int:
        return round(sum(corpus.tokens * weight for corpus, weight in zip(self.corpora, self.weights, strict=True)))

    @property
    def windows(self) -> int:
        return 1

    def window(self, seed: int, epoch: int, number: int) -> PairWindow:
        starts = np.cumsum([0, *map(len, self.corpora[:-1])])
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
