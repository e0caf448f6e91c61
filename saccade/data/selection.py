"""Which pairs of a corpus are trained on, which are held out, and why others are left out: one byte per pair.

A corpus is read one pair at a time: once to judge every pair by the cleaning rules, and once more to hold pairs out and
to find those that are too long. In memory are these verdicts, a mark for every so many pairs, from which reading can
start again, and the held-out pairs, which are few.
"""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heapreplace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from saccade.data.cache import load_arrays, save_arrays
from saccade.data.cleaning import (
    SHOWN_LINES,
    Cleaning,
    CleaningReport,
    LeftOut,
    ScriptRule,
    Scripts,
    SourceGroups,
    Split,
    Verdict,
)
from saccade.data.sources import PairSource, TextPair, add_tag
from saccade.text import Vocabularies, words
from saccade.text.subwords import Sample

_NUMBERS = ("longest", "longest_source", "tokens")  # fields that are saved as they are
STRIDE = 4096  # pairs from one mark to the next
_BYTES_PER_TOKEN = 4  # an estimate
_CANDIDATES = 100  # longest sources by characters, among which the one with the most words is searched

Observer = Callable[[int, TextPair, Verdict], None]  # gets the place of a pair, the pair, and its first verdict


@dataclass(frozen=True, kw_only=True)
class Selection:
    pairs: PairSource
    cleaning: Cleaning
    scripts: Scripts
    verdicts: npt.NDArray[np.uint8]
    marks: npt.NDArray[np.int64]  # one row per STRIDE pairs
    lines: Mapping[int, Sequence[int]]  # the first lines of each verdict
    held_out: tuple[TextPair, ...] = ()
    # After `drop_long`:
    longest: int = 0  # maximum number of tokens on a side
    longest_source: int = 0  # in words
    longest_sides: tuple[int, int] = (0, 0)  # upper bounds in tokens for a source and for a target, however tokenised
    tokens: int = 0  # of the longer sides, estimated

    def __len__(self) -> int:
        """Count all pairs, whatever the verdict."""
        return len(self.verdicts)

    @classmethod
    def of(cls, pairs: PairSource, cleaning: Cleaning | None = None, observe: Observer | None = None) -> Self:
        """Judge every pair. `observe` is called before the rules for scripts and duplicates, which need all pairs."""
        cleaning = cleaning or Cleaning()
        verdicts, marks, digests, rule = array("B"), [], array("Q"), ScriptRule(cleaning)
        mark: tuple[int, ...] = (0,)
        for place, (mark, pair) in enumerate(pairs.marked()):
            if place % STRIDE == 0:
                marks.append(mark)
            verdicts.append(verdict := cleaning.judge(pair))
            if cleaning.script is not None:
                rule.add(pair)
            if cleaning.duplicates:
                digests.append(_digest(pair))
            if observe is not None:
                observe(place, pair, verdict)
        judged, scripts = np.frombuffer(verdicts, np.uint8), rule.named
        if cleaning.script is not None:
            scripts, is_other = rule.decide()
            judged[is_other & ((judged == Verdict.KEPT) | (judged > Verdict.SCRIPT))] = Verdict.SCRIPT
        if cleaning.duplicates:
            judged[_find_repeated(np.frombuffer(digests, np.uint64), judged)] = Verdict.DUPLICATE
        selection = cls(
            pairs=pairs,
            cleaning=cleaning,
            scripts=scripts,
            verdicts=judged,
            marks=np.array(marks, np.int64),
            lines={},
        )
        return replace(selection, lines=selection._first_lines(mark[0]))

    def _first_lines(self, last: int) -> Mapping[int, Sequence[int]]:
        """Find the first lines of each verdict. The file is read again only if a pair can take several lines."""
        counts = np.bincount(self.verdicts, minlength=len(Verdict))
        places = {
            int(verdict): np.flatnonzero(self.verdicts == verdict)[:SHOWN_LINES].tolist()
            for verdict in Verdict
            if counts[verdict] and verdict is not Verdict.KEPT
        }
        lines: Sequence[int] | Mapping[int, int] = range(last - len(self) + 1, last + 1)
        if places and lines[0] != self.marks[0][0]:
            shown = {place for first in places.values() for place in first}
            lines = {place: line for place, line, _ in islice(self.records(), max(shown) + 1) if place in shown}
        by_place = sorted(places, key=lambda verdict: (verdict == Verdict.DUPLICATE, places[verdict]))
        return {verdict: [lines[place] for place in places[verdict]] for verdict in by_place}

    def records(self, first: int = 0) -> Iterator[tuple[int, int, TextPair]]:
        """Read (place, line, pair) of every pair from the place `first` on."""
        if first < len(self):
            marked = self.pairs.marked(tuple(self.marks[first // STRIDE].tolist()) if first >= STRIDE else None)
            rest = islice(marked, first % STRIDE, len(self) - first + first % STRIDE)
            for place, (mark, pair) in enumerate(rest, first):
                yield place, mark[0], pair

    def selected(self) -> Iterator[tuple[int, TextPair]]:
        """Read (line, pair) of the pairs to train on."""
        verdicts = self.verdicts.data  # indexing it returns a Python int, many times faster than NumPy
        return ((line, pair) for place, line, pair in self.records() if verdicts[place] == Verdict.KEPT)

    def revise(self, judge: Callable[[int, TextPair], Verdict], longest: int = 0) -> Self:
        """Judge the pairs to train on again, by their lines and texts."""
        verdicts, held_out = bytearray(self.verdicts), [*self.held_out]
        lines = {verdict: [*first] for verdict, first in self.lines.items()}
        for place, line, pair in self.records():
            if verdicts[place] == Verdict.KEPT:
                verdicts[place] = verdict = judge(line, pair)
                if verdict is Verdict.HELD_OUT:
                    held_out.append(pair)
                elif verdict is not Verdict.KEPT and len(first := lines.setdefault(verdict, [])) < SHOWN_LINES:
                    first.append(line)
        judged = np.frombuffer(verdicts, np.uint8)
        return replace(self, verdicts=judged, held_out=tuple(held_out), lines=lines, longest=longest)

    def hold_out(self, split: Split, elsewhere: frozenset[int] = frozenset()) -> Self:
        """Leave out the held-out pairs, and pairs with a text on either side that is a held-out source `elsewhere`."""
        return self.revise(lambda line, pair: split.judge(pair, elsewhere))

    def drop_long(
        self,
        vocabularies: Vocabularies,
        longest: int,
        tag: str | None = None,
        *,
        split: Split | None = None,
        elsewhere: frozenset[int] = frozenset(),
    ) -> Self:
        """Leave out pairs with more than `longest` tokens on a side; with a `split`, hold out in the same pass. A token
        is at least one byte, with three for a space, so that most texts need not be tokenised to know."""
        longest_texts: list[tuple[int, str]] = []  # a heap
        sides, bounds, total = (vocabularies.source, vocabularies.target), [0, 0], 0

        def judge(line: int, pair: TextPair) -> Verdict:
            nonlocal total
            if split is not None and (verdict := split.judge(pair, elsewhere)):
                return verdict
            lengths = [
                len(side.normalise(text).replace(" ", "▁").encode()) + 4  # the space and the tag before the text
                for side, text in zip(sides, pair, strict=True)
            ]
            if max(lengths) > longest and max(map(len, vocabularies.encode(add_tag(pair, tag)))) > longest:
                return Verdict.TOO_LONG
            total += max(lengths)
            bounds[:] = map(max, bounds, lengths)
            if len(longest_texts) < _CANDIDATES:
                heappush(longest_texts, (len(pair.source), pair.source))
            elif len(pair.source) > longest_texts[0][0]:
                heapreplace(longest_texts, (len(pair.source), pair.source))
            return Verdict.KEPT

        return replace(
            self.revise(judge, longest),
            longest_source=max((len(words(text)) for _, text in longest_texts), default=0),
            longest_sides=(min(bounds[0], longest), min(bounds[1], longest)),
            tokens=total // _BYTES_PER_TOKEN,
        )

    def report(self) -> CleaningReport:
        counts = np.bincount(self.verdicts, minlength=len(Verdict)).tolist()
        left_out = tuple(
            LeftOut(why, counts[verdict], tuple(self.lines[verdict]))
            for verdict, why in self.cleaning.reasons(self.scripts, self.longest, self.pairs.unit).items()
            if counts[verdict]
        )
        return CleaningReport(kept=counts[Verdict.KEPT], left_out=left_out, unit=self.pairs.unit)

    def save(self, folder: Path) -> None:
        lines = [[verdict, [*first]] for verdict, first in self.lines.items()]
        scripts = [sorted(side) for side in self.scripts]
        about: dict[str, Any] = {"scripts": scripts, "held_out": self.held_out, "lines": lines}
        about |= {"longest_sides": self.longest_sides, **{name: getattr(self, name) for name in _NUMBERS}}
        save_arrays(folder, {"verdicts": self.verdicts, "marks": self.marks}, about)

    @classmethod
    def load(cls, folder: Path, pairs: PairSource, cleaning: Cleaning) -> Self:
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
            longest_sides=tuple(about["longest_sides"]),
            **{name: about[name] for name in _NUMBERS},
        )


@dataclass(frozen=True)
class SelectedPairs:
    """The pairs to train on of one or several corpora, which can be iterated again."""

    selections: Sequence[Selection]

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for selection in self.selections for _, pair in selection.selected())


class Survey:
    """What one pass over a corpus finds: the selection, the groups from which a split is chosen, the `first` pairs, and
    a `sample` of the others, of which scripts, duplicates and the split still leave some out."""

    def __init__(
        self, pairs: PairSource, cleaning: Cleaning, *, seed: int, most: int, sample: int = 0, first: int = 0
    ) -> None:
        """At most `most` pairs will be held out; 0: none."""
        self.first: list[TextPair] = []
        self.drawn = Sample[tuple[int, TextPair]](sample)
        self._seed, self._groups = seed, SourceGroups(seed, most)

        def observe(place: int, pair: TextPair, verdict: Verdict) -> None:
            if len(self.first) < first:
                self.first.append(pair)
            if verdict is Verdict.KEPT:
                if sample:
                    self.drawn.add((place, pair))
                if most:
                    self._groups.add(place, pair.source)

        self.selection = Selection.of(pairs, cleaning, observe)

    def split(self, *, share: float, most: int) -> Split:
        """Choose which of the pairs to train on are held out instead."""
        kept = self.selection.verdicts == Verdict.KEPT
        pairs = self.selection.pairs
        return Split(self._seed, self._groups.choose(kept, share=share, most=most, name=str(pairs), unit=pairs.unit))

    def sample(self, share: float, split: Split, elsewhere: frozenset[int]) -> Iterator[TextPair]:
        """Return a share of all pairs, at most the whole sample, without those that are left out or held out."""
        for place, pair in self.drawn.items[: math.ceil(share * self.drawn.count)]:
            if self.selection.verdicts[place] == split.judge(pair, elsewhere) == Verdict.KEPT:
                yield pair


def _digest(pair: TextPair) -> int:
    text = f"{pair.source}\n{pair.target}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _find_repeated(digests: npt.NDArray[np.uint64], verdicts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    places = np.flatnonzero(verdicts == Verdict.KEPT)
    repeated = np.ones(len(places), bool)
    repeated[np.unique(digests[places], return_index=True)[1]] = False
    return places[repeated]
