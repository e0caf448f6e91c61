"""Encoded pairs.

A side of a corpus is two arrays: all ids one after another, and where each text begins. They may lie in memory or be
mapped from files, so a corpus larger than memory costs none once it is encoded.
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
from saccade.data.cleaning import CleaningReport, LeftOut
from saccade.data.selection import Selection
from saccade.data.sources import add_tag
from saccade.errors import UserError
from saccade.text import Vocabularies

Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


class EncodedTexts(Protocol):
    """Many texts as ids."""

    @property
    def lengths(self) -> Places: ...
    def __call__(self, place: int, /) -> Ids: ...


@dataclass(frozen=True, kw_only=True)
class PairWindow:
    source: EncodedTexts
    target: EncodedTexts
    places: Places  # of the pairs to be batched; one may come again
    indices: Places | None = None  # what a batch calls the pair at each place; None: the place itself


class WindowSource(Protocol):
    @property
    def longest(self) -> tuple[int, int]:
        """Pieces of the longest source and of the longest target that may come."""

    @property
    def tokens(self) -> int:
        """Of an epoch, of the longer side of each pair: about."""

    @property
    def windows(self) -> int:
        """How many an epoch has."""

    def window(self, seed: int, epoch: int, number: int) -> PairWindow: ...


def count_passed(pairs: int, weight: float, done: int, windows: int) -> int:
    """How many pairs of a corpus have come after `done` windows, over all epochs of `windows` each, in which it is
    passed over `weight` times. What is more than all goes on from the first again."""
    return int(pairs * Fraction(str(weight)) * done / windows)


@dataclass(frozen=True)
class JoinedSides:
    """The texts of several corpora, one after another."""

    sides: Sequence[EncodedTexts]
    starts: Places

    @property
    def lengths(self) -> Places:
        return np.concatenate([side.lengths for side in self.sides])

    def __call__(self, place: int) -> Ids:
        which = int(np.searchsorted(self.starts, place, "right")) - 1
        return self.sides[which](place - int(self.starts[which]))


class Side(NamedTuple):
    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]  # one more than there are texts

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    def __call__(self, index: int) -> npt.NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


class SideBuilder:
    """A side that is being made, four bytes an id."""

    def __init__(self) -> None:
        self._ids, self._offsets = array("i"), array("q", [0])

    def append(self, text: Iterable[int]) -> None:
        self._ids.extend(text)
        self._offsets.append(len(self._ids))

    def side(self) -> Side:
        return Side(np.frombuffer(self._ids, np.int32), np.frombuffer(self._offsets, np.int64))


@dataclass(frozen=True)
class Corpus:
    """Ids only: neither bos nor eos, which are a batch's business. `lines` has the line of the file for each pair."""

    source: Side
    target: Side
    lines: npt.NDArray[np.int64]
    report: CleaningReport

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def encode(
        cls, selection: Selection, vocabularies: Vocabularies, *, longest: int = 256, tag: str | None = None
    ) -> Self:
        """`longest` is in pieces, on either side."""
        sources, targets = SideBuilder(), SideBuilder()
        lines, too_long = array("q"), array("q")
        for line, pair in selection.selected():
            source, target = vocabularies.encode(add_tag(pair, tag))
            if max(len(source), len(target)) > longest:
                too_long.append(line)
                continue
            lines.append(line)
            sources.append(source)
            targets.append(target)
        report = selection.report(longest=longest, too_long=too_long)
        if not lines:
            raise UserError(f"no pair is left: {report}; give pairs with text on both sides, or allow longer ones")
        return cls(sources.side(), targets.side(), np.frombuffer(lines, np.int64), report)

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

    @property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "source_ids": self.source.ids,
            "source_offsets": self.source.offsets,
            "target_ids": self.target.ids,
            "target_offsets": self.target.offsets,
            "lines": self.lines,
        }

    def save(self, folder: Path) -> None:
        save_arrays(folder, self._arrays, asdict(self.report))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The saved corpus, mapped from its files. Raises DamagedError unless every byte is as it was saved."""
        arrays, about = load_arrays(folder)
        try:
            left_out = tuple(LeftOut(why, count, tuple(first)) for why, count, first in about["left_out"])
            return cls(
                Side(arrays["source_ids"], arrays["source_offsets"]),
                Side(arrays["target_ids"], arrays["target_offsets"]),
                arrays["lines"],
                CleaningReport(kept=about["kept"], left_out=left_out),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"{folder}: {error}") from error


@dataclass(frozen=True)
class Mixture:
    """Several corpora, each passed over `weight` times an epoch: of 1.5 passes, the half goes on where the last one
    stopped. A pass takes every pair once, in an order of its own."""

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
            start + _drawn(len(corpus), weight, (seed, which), epoch)
            for which, (corpus, weight, start) in enumerate(zip(self.corpora, self.weights, starts, strict=True))
        ]
        return PairWindow(
            source=JoinedSides([corpus.source for corpus in self.corpora], starts),
            target=JoinedSides([corpus.target for corpus in self.corpora], starts),
            places=np.concatenate(places),
        )


def _drawn(pairs: int, weight: float, seed: tuple[int, int], epoch: int) -> Places:
    """The places that come in an epoch, out of pass after pass over all."""
    first, last = count_passed(pairs, weight, epoch - 1, 1), count_passed(pairs, weight, epoch, 1)
    passes = range(first // pairs, -(-last // pairs))
    orders = [np.random.default_rng((*seed, number)).permutation(pairs) for number in passes]
    start = first - passes.start * pairs
    return np.concatenate([np.empty(0, np.int64), *orders])[start : start + last - first]
