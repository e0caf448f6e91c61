"""Which pairs of a corpus are trained on, which are held out, and why others are neither: a byte a pair.

A corpus is read here as often as needed, a pair at a time. What is remembered of it are these verdicts and, for every
so many pairs, where in the file to begin again; what is held out is small, and kept as it is.
"""

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heapreplace
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from saccade.data.cache import load_arrays, save_arrays
from saccade.data.cleaning import SHOWN_LINES, Cleaning, CleaningReport, LeftOut, Scripts, Verdict
from saccade.data.sources import PairSource, TextPair, add_tag
from saccade.data.split import Split, text_key
from saccade.text import Vocabularies, words

STRIDE = 4096  # pairs from one remembered place to the next
_BYTES = 4  # of a piece: about
_LONGEST = 100  # sources among which that of most words is looked for


@dataclass(frozen=True, kw_only=True)
class Selection:
    pairs: PairSource
    cleaning: Cleaning
    scripts: Scripts
    verdicts: npt.NDArray[np.uint8]
    marks: npt.NDArray[np.int64]  # a row for every STRIDE-th pair
    lines: Mapping[int, Sequence[int]]  # the first of each verdict
    held_out: tuple[TextPair, ...] = ()
    longest: int = 0  # pieces on a side, where those that are longer are left out
    longest_source: int = 0  # words, of what is kept then
    longest_sides: tuple[int, int] = (0, 0)  # of a source and of a target, however they are cut
    tokens: int = 0  # of the longer sides, all together: about

    def __len__(self) -> int:
        """All pairs, whatever the verdict."""
        return len(self.verdicts)

    @classmethod
    def of(cls, pairs: PairSource, cleaning: Cleaning | None = None) -> Self:
        cleaning = cleaning or Cleaning()
        scripts = cleaning.scripts(pairs)
        verdicts, marks, digests, lines = array("B"), [], array("Q"), _Lines()
        for place, (mark, pair) in enumerate(pairs.marked()):
            if place % STRIDE == 0:
                marks.append(mark)
            verdicts.append(verdict := cleaning.judge(pair, scripts))
            lines.note(verdict, mark[0])
            if cleaning.duplicates:
                digests.append(_digest(pair))
        judged = np.frombuffer(verdicts, np.uint8)
        made = cls(
            pairs=pairs,
            cleaning=cleaning,
            scripts=scripts,
            verdicts=judged,
            marks=np.array(marks, np.int64),
            lines=lines,
        )
        if cleaning.duplicates:
            again = _again(np.frombuffer(digests, np.uint64), judged)
            lines[Verdict.DUPLICATE] = [next(made.records(place))[1] for place in again[:SHOWN_LINES].tolist()]
            judged[again] = Verdict.DUPLICATE
        return made

    def records(self, first: int = 0) -> Iterator[tuple[int, int, TextPair]]:
        """(place, line, pair) of every pair from a place on"""
        if first < len(self):
            marked = self.pairs.marked(tuple(self.marks[first // STRIDE].tolist()))
            wanted = islice(marked, first % STRIDE, len(self) - first + first % STRIDE)
            for place, (mark, pair) in enumerate(wanted, first):
                yield place, mark[0], pair

    def selected(self) -> Iterator[tuple[int, TextPair]]:
        """(line, pair) of those to be trained on"""
        verdicts = self.verdicts.data  # whose numbers are Python's, and many times quicker to get at
        return ((line, pair) for place, line, pair in self.records() if verdicts[place] == Verdict.KEPT)

    def split(self, *, seed: int, share: float, most: int) -> Split:
        """Which of those that would be trained on to hold out."""
        return Split.of(_KeptPairs(self), seed=seed, share=share, most=most, name=str(self.pairs))

    def hold_out(self, split: Split, elsewhere: frozenset[int] = frozenset()) -> Self:
        """Without what is held out here, or has a text on either side that is held out as a source `elsewhere`."""
        verdicts, held_out, lines = bytearray(self.verdicts), [], _Lines(self.lines)
        for place, line, pair in self.records():
            if verdicts[place] != Verdict.KEPT:
                continue
            if pair in split:
                verdicts[place] = Verdict.HELD_OUT
                held_out.append(pair)
            elif elsewhere and any(text_key(text, split.seed) in elsewhere for text in pair):
                verdicts[place] = Verdict.HELD_OUT_ELSEWHERE
                lines.note(Verdict.HELD_OUT_ELSEWHERE, line)
        judged = np.frombuffer(verdicts, np.uint8)
        return replace(self, verdicts=judged, held_out=tuple(held_out), lines=lines)

    def drop_long(self, vocabularies: Vocabularies, longest: int, tag: str | None = None) -> Self:
        """Without pairs of more than `longest` pieces on a side. A piece writes a byte at least, of the three that make
        a space; so most texts need not be cut to know."""
        verdicts, lines, total = bytearray(self.verdicts), _Lines(self.lines), 0
        sources: list[tuple[int, str]] = []  # the longest, by characters
        sides, bounds = (vocabularies.source, vocabularies.target), (0, 0)
        for place, line, pair in self.records():
            if verdicts[place] != Verdict.KEPT:
                continue
            source, target = (
                len(side.normalise(text).replace(" ", "▁").encode()) + 4  # the space and the tag before it
                for side, text in zip(sides, pair, strict=True)
            )
            most = max(source, target)
            if most > longest and max(map(len, vocabularies.encode(add_tag(pair, tag)))) > longest:
                verdicts[place] = Verdict.TOO_LONG
                lines.note(Verdict.TOO_LONG, line)
                continue
            total += most
            bounds = max(bounds[0], source), max(bounds[1], target)
            if len(sources) < _LONGEST:
                heappush(sources, (len(pair.source), pair.source))
            elif len(pair.source) > sources[0][0]:
                heapreplace(sources, (len(pair.source), pair.source))
        return replace(
            self,
            verdicts=np.frombuffer(verdicts, np.uint8),
            lines=lines,
            longest=longest,
            longest_source=max((len(words(source)) for _, source in sources), default=0),
            longest_sides=(min(bounds[0], longest), min(bounds[1], longest)),
            tokens=total // _BYTES,
        )

    def report(self, *, longest: int = 0, too_long: Sequence[int] = ()) -> CleaningReport:
        """`too_long`: lines that are found to be so elsewhere."""
        reasons = self.cleaning.reasons(self.scripts, longest or self.longest)
        counts = np.bincount(self.verdicts, minlength=len(Verdict)).tolist()
        left_out = [
            LeftOut(why, counts[verdict], tuple(self.lines[verdict]))
            for verdict, why in reasons.items()
            if counts[verdict]
        ]
        if too_long:
            left_out.append(LeftOut(reasons[Verdict.TOO_LONG], len(too_long), tuple(too_long[:SHOWN_LINES])))
        return CleaningReport(kept=counts[Verdict.KEPT] - len(too_long), left_out=tuple(left_out))

    def save(self, folder: Path) -> None:
        about = {
            "scripts": [sorted(side) for side in self.scripts],
            "held_out": self.held_out,
            "lines": [[int(verdict), [*first]] for verdict, first in self.lines.items()],
            "longest": self.longest,
            "longest_source": self.longest_source,
            "longest_sides": self.longest_sides,
            "tokens": self.tokens,
        }
        save_arrays(folder, {"verdicts": self.verdicts, "marks": self.marks}, about)

    @classmethod
    def load(cls, folder: Path, pairs: PairSource, cleaning: Cleaning) -> Self:
        """As it was saved, for the same pairs and cleaning."""
        arrays, about = load_arrays(folder)
        source, target = map(frozenset, about["scripts"])
        return cls(
            pairs=pairs,
            cleaning=cleaning,
            scripts=(source, target),
            verdicts=arrays["verdicts"],
            marks=arrays["marks"],
            lines=dict(about["lines"]),
            held_out=tuple(TextPair(*pair) for pair in about["held_out"]),
            longest=about["longest"],
            longest_source=about["longest_source"],
            longest_sides=tuple(about["longest_sides"]),
            tokens=about["tokens"],
        )


@dataclass(frozen=True)
class _KeptPairs:
    """Those to be trained on; they can be iterated again."""

    selection: Selection

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in self.selection.selected())


class _Lines(dict[int, Sequence[int]]):
    """The first few of each verdict."""

    def note(self, verdict: Verdict, line: int) -> None:
        if verdict is not Verdict.KEPT and len(self.get(verdict, ())) < SHOWN_LINES:
            self[verdict] = [*self.get(verdict, ()), line]


def _digest(pair: TextPair) -> int:
    text = f"{pair.source}\n{pair.target}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _again(digests: npt.NDArray[np.uint64], verdicts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The places of those that would be kept, but came before."""
    places = np.flatnonzero(verdicts == Verdict.KEPT)
    again = np.ones(len(places), bool)
    again[np.unique(digests[places], return_index=True)[1]] = False
    return places[again]
