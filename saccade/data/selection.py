"""Which pairs of a corpus are trained on, which are held out, and why others are neither: a byte a pair.

A corpus is read here as often as needed, a pair at a time. What is remembered of it are these verdicts and, for every
so many pairs, where in the file to begin again; what is held out is small, and kept as it is.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heapreplace
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from saccade.data.arrays import load_arrays, save_arrays
from saccade.data.cleaning import SHOWN, Cleaning, LeftOut, Report, Scripts, Verdict
from saccade.data.opening import Pairs
from saccade.data.reading import TextPair, tagged
from saccade.data.split import Split, key
from saccade.text import Vocabularies, words

STRIDE = 4096  # pairs from one remembered place to the next
_BYTES = 4  # of a piece: about
_LONGEST = 100  # sources among which that of most words is looked for


@dataclass(frozen=True, kw_only=True)
class Selection:
    pairs: Pairs
    cleaning: Cleaning
    scripts: Scripts
    verdicts: npt.NDArray[np.uint8]
    marks: npt.NDArray[np.int64]  # a row for every STRIDE-th pair
    held_out: tuple[TextPair, ...] = ()
    longest: int = 0  # pieces on a side, where those that are longer are left out
    longest_source: int = 0  # words, of what is kept then
    pieces: int = 0  # of the longer sides, all together: about

    def __len__(self) -> int:
        """All pairs, whatever the verdict."""
        return len(self.verdicts)

    @classmethod
    def of(cls, pairs: Pairs, cleaning: Cleaning | None = None) -> Self:
        cleaning = cleaning or Cleaning()
        scripts = cleaning.scripts(pairs)
        verdicts, marks, digests = array("B"), [], array("Q")
        for place, (mark, pair) in enumerate(pairs.marked()):
            if place % STRIDE == 0:
                marks.append(mark)
            verdicts.append(cleaning.judge(pair, scripts))
            if cleaning.duplicates:
                digests.append(_digest(pair))
        judged = np.frombuffer(verdicts, np.uint8)
        if cleaning.duplicates:
            judged = judged.copy()
            judged[_again(np.frombuffer(digests, np.uint64), judged)] = Verdict.DUPLICATE
        return cls(pairs=pairs, cleaning=cleaning, scripts=scripts, verdicts=judged, marks=np.array(marks, np.int64))

    def records(self, first: int = 0) -> Iterator[tuple[int, int, TextPair]]:
        """(place, line, pair) of every pair from a place on"""
        if first < len(self):
            marked = self.pairs.marked(tuple(self.marks[first // STRIDE].tolist()))
            wanted = islice(marked, first % STRIDE, len(self) - first + first % STRIDE)
            for place, (mark, pair) in enumerate(wanted, first):
                yield place, mark[0], pair

    def kept(self) -> Iterator[tuple[int, TextPair]]:
        """(line, pair) of those to be trained on"""
        verdicts = self.verdicts.data  # whose numbers are Python's, and many times quicker to get at
        return ((line, pair) for place, line, pair in self.records() if verdicts[place] == Verdict.KEPT)

    def split(self, *, seed: int, share: float, most: int) -> Split:
        """Which of those that would be trained on to hold out."""
        return Split.of((pair for _, pair in self.kept()), seed=seed, share=share, most=most, name=str(self.pairs))

    def holding_out(self, split: Split, elsewhere: frozenset[int] = frozenset()) -> Self:
        """Without what is held out here, or has a text on either side that is held out as a source `elsewhere`."""
        verdicts, held_out = bytearray(self.verdicts), []
        for place, _, pair in self.records():
            if verdicts[place] != Verdict.KEPT:
                continue
            if pair in split:
                verdicts[place] = Verdict.HELD_OUT
                held_out.append(pair)
            elif elsewhere and any(key(text, split.seed) in elsewhere for text in pair):
                verdicts[place] = Verdict.HELD_OUT_ELSEWHERE
        return replace(self, verdicts=np.frombuffer(verdicts, np.uint8), held_out=tuple(held_out))

    def shorter(self, vocabularies: Vocabularies, longest: int, tag: str | None = None) -> Self:
        """Without pairs of more than `longest` pieces on a side. A piece writes a byte at least: most texts need not be
        cut to know."""
        verdicts, total = bytearray(self.verdicts), 0
        sources: list[tuple[int, str]] = []  # the longest, by characters
        for place, _, pair in self.records():
            if verdicts[place] != Verdict.KEPT:
                continue
            most = max(len(text.encode("utf-8", "surrogatepass")) for text in pair)
            if most + 2 > longest and max(map(len, vocabularies.encode(tagged(pair, tag)))) > longest:
                verdicts[place] = Verdict.TOO_LONG
                continue
            total += most
            if len(sources) < _LONGEST:
                heappush(sources, (len(pair.source), pair.source))
            elif len(pair.source) > sources[0][0]:
                heapreplace(sources, (len(pair.source), pair.source))
        return replace(
            self,
            verdicts=np.frombuffer(verdicts, np.uint8),
            longest=longest,
            longest_source=max((len(words(source)) for _, source in sources), default=0),
            pieces=total // _BYTES,
        )

    def report(self, *, longest: int = 0, too_long: Sequence[int] = ()) -> Report:
        """`too_long`: lines that are found to be so elsewhere."""
        reasons = self.cleaning.reasons(self.scripts, longest or self.longest)
        left_out = []
        for verdict, why in reasons.items():
            places = np.flatnonzero(self.verdicts == verdict)
            first = [self._line(place) for place in places[:SHOWN].tolist()]
            if verdict == Verdict.TOO_LONG and too_long:
                left_out.append(LeftOut(why, len(too_long), tuple(too_long[:SHOWN])))
            elif len(places):
                left_out.append(LeftOut(why, len(places), tuple(first)))
        kept = int((self.verdicts == Verdict.KEPT).sum()) - len(too_long)
        return Report(kept=kept, left_out=tuple(left_out))

    def _line(self, place: int) -> int:
        return next(line for _, line, _ in self.records(place))

    def save(self, folder: Path) -> None:
        about = {
            "scripts": [sorted(side) for side in self.scripts],
            "held_out": self.held_out,
            "longest": self.longest,
            "longest_source": self.longest_source,
            "pieces": self.pieces,
        }
        save_arrays(folder, {"verdicts": self.verdicts, "marks": self.marks}, about)

    @classmethod
    def load(cls, folder: Path, pairs: Pairs, cleaning: Cleaning) -> Self:
        """As it was saved, for the same pairs and cleaning."""
        arrays, about = load_arrays(folder)
        source, target = map(frozenset, about["scripts"])
        return cls(
            pairs=pairs,
            cleaning=cleaning,
            scripts=(source, target),
            verdicts=arrays["verdicts"],
            marks=arrays["marks"],
            held_out=tuple(TextPair(*pair) for pair in about["held_out"]),
            longest=about["longest"],
            longest_source=about["longest_source"],
            pieces=about["pieces"],
        )


def _digest(pair: TextPair) -> int:
    text = f"{pair.source}\n{pair.target}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _again(digests: npt.NDArray[np.uint64], verdicts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The places of those that would be kept, but came before."""
    places = np.flatnonzero(verdicts == Verdict.KEPT)
    again = np.ones(len(places), bool)
    again[np.unique(digests[places], return_index=True)[1]] = False
    return places[again]
