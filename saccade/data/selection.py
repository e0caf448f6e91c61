"""Which pairs of a corpus are trained on, which are held out, and why others are left out: one byte per pair.

A corpus may be read several times here, one pair at a time. In memory are these verdicts, a mark for every so many
pairs, from which reading can start again, and the held-out pairs, which are few.
"""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heapreplace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from saccade.data.cache import load_arrays, save_arrays
from saccade.data.cleaning import SHOWN_LINES, Cleaning, CleaningReport, LeftOut, Scripts, Verdict
from saccade.data.sources import PairSource, TextPair, add_tag, is_empty
from saccade.errors import UserError, plural
from saccade.text import HasTexts, Vocabularies, words

_NUMBERS = ("longest", "longest_source", "tokens")  # fields that are saved as they are
STRIDE = 4096  # pairs from one mark to the next
_BYTES_PER_TOKEN = 4  # an estimate
_CANDIDATES = 100  # longest sources by characters, among which the one with the most words is searched
SideName = Literal["source", "target"]


@dataclass(frozen=True)
class Split:
    """Pairs are held out by their source, whole groups at a time: no held-out source is seen in training, not even one
    that differs only in case or white space. Where all pairs have the same source (a model of targets alone), they are
    held out by their target. The choice depends on the pairs and the seed, not on the order of the pairs."""

    seed: int
    held_out: frozenset[int]
    side: SideName = "source"

    @classmethod
    def of(
        cls, pairs: Iterable[HasTexts], *, seed: int = 1, share: float = 0.05, most: int = 2000, name: str = "the pairs"
    ) -> Self:
        """Hold out about `share` of the pairs, at least 1 and at most `most`. `pairs` may be iterated twice; `name` is
        for error messages."""

        def count_groups(side: SideName) -> tuple[int, Counter[int]]:
            texts = (getattr(pair, side) for pair in pairs if not is_empty(pair))
            # Twice as many groups as are needed if each is a single pair, since some are too large.
            return _smallest_keys((text_key(text, seed) for text in texts), 2 * most + 100)

        side: SideName = "source"
        total, counts = count_groups(side)
        if len(counts) == 1 and total > 1:
            side = "target"
            _, counts = count_groups(side)
        if len(counts) < 2:
            raise UserError(
                f"{name}: {plural(total, 'pair')}{', all alike' * (total > 1)}; expected at least 2 that differ, to "
                "hold one out for validation: give more pairs, or a validation file (--valid)"
            )
        room = max(1, min(most, round(share * total), total - 1))  # at least one pair is left to train on
        held_out = []
        for group, count in sorted(counts.items()):  # the order of the keys is a seeded shuffle
            if count <= room:
                held_out.append(group)
                room -= count
            if room == 0:
                break
        return cls(seed, frozenset(held_out or [min(counts, key=lambda group: (counts[group], group))]), side)

    def __contains__(self, pair: HasTexts) -> bool:
        """Tell whether the pair is held out. An empty pair never is."""
        return not is_empty(pair) and text_key(getattr(pair, self.side), self.seed) in self.held_out


def text_key(text: str, seed: int) -> int:
    """Hash a text, ignoring case and white space."""
    plain = " ".join(text.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little")


def _smallest_keys(keys: Iterable[int], most: int) -> tuple[int, Counter[int]]:
    """Count all keys, and the occurrences of each of the `most` smallest: memory does not grow with the corpus."""
    total, counts, bound = 0, Counter[int](), 1 << 64
    for key in keys:
        total += 1
        if key < bound:
            counts[key] += 1
            if len(counts) == 2 * most:  # a key that is among the smallest in the end was below the bound all along
                smallest = sorted(counts)[:most]
                counts, bound = Counter({key: counts[key] for key in smallest}), smallest[-1] + 1
    return total, counts


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
    def of(cls, pairs: PairSource, cleaning: Cleaning | None = None) -> Self:
        cleaning = cleaning or Cleaning()
        scripts = cleaning.find_scripts(pairs)
        verdicts, marks, digests, lines = array("B"), [], array("Q"), _FirstLines()
        for place, (mark, pair) in enumerate(pairs.marked()):
            if place % STRIDE == 0:
                marks.append(mark)
            verdicts.append(verdict := cleaning.judge(pair, scripts))
            lines.add(verdict, mark[0])
            if cleaning.duplicates:
                digests.append(_digest(pair))
        judged = np.frombuffer(verdicts, np.uint8)
        selection = cls(
            pairs=pairs,
            cleaning=cleaning,
            scripts=scripts,
            verdicts=judged,
            marks=np.array(marks, np.int64),
            lines=lines,
        )
        if cleaning.duplicates:
            repeated = _find_repeated(np.frombuffer(digests, np.uint64), judged)
            first = repeated[:SHOWN_LINES].tolist()
            lines[Verdict.DUPLICATE] = [next(selection.records(place))[1] for place in first]
            judged[repeated] = Verdict.DUPLICATE
        return selection

    def records(self, first: int = 0) -> Iterator[tuple[int, int, TextPair]]:
        """Read (place, line, pair) of every pair from the place `first` on."""
        if first < len(self):
            marked = self.pairs.marked(tuple(self.marks[first // STRIDE].tolist()))
            rest = islice(marked, first % STRIDE, len(self) - first + first % STRIDE)
            for place, (mark, pair) in enumerate(rest, first):
                yield place, mark[0], pair

    def selected(self) -> Iterator[tuple[int, TextPair]]:
        """Read (line, pair) of the pairs to train on."""
        verdicts = self.verdicts.data  # indexing it returns a Python int, many times faster than NumPy
        return ((line, pair) for place, line, pair in self.records() if verdicts[place] == Verdict.KEPT)

    def split(self, *, seed: int, share: float, most: int) -> Split:
        """Choose which of the pairs to train on are held out instead."""
        return Split.of(SelectedPairs([self]), seed=seed, share=share, most=most, name=str(self.pairs))

    def hold_out(self, split: Split, elsewhere: frozenset[int] = frozenset()) -> Self:
        """Leave out the held-out pairs, and pairs with a text on either side that is a held-out source `elsewhere`."""
        verdicts, held_out, lines = bytearray(self.verdicts), [], _FirstLines(self.lines)
        for place, line, pair in self.records():
            if verdicts[place] != Verdict.KEPT:
                continue
            if pair in split:
                verdicts[place] = Verdict.HELD_OUT
                held_out.append(pair)
            elif elsewhere and any(text_key(text, split.seed) in elsewhere for text in pair):
                verdicts[place] = Verdict.HELD_OUT_ELSEWHERE
                lines.add(Verdict.HELD_OUT_ELSEWHERE, line)
        judged = np.frombuffer(verdicts, np.uint8)
        return replace(self, verdicts=judged, held_out=tuple(held_out), lines=lines)

    def drop_long(self, vocabularies: Vocabularies, longest: int, tag: str | None = None) -> Self:
        """Leave out pairs with more than `longest` tokens on a side. A token is at least one byte, with three for a
        space, so that most texts need not be tokenised to know."""
        verdicts, lines, total = bytearray(self.verdicts), _FirstLines(self.lines), 0
        longest_texts: list[tuple[int, str]] = []  # a heap
        sides, bounds = (vocabularies.source, vocabularies.target), (0, 0)
        for place, line, pair in self.records():
            if verdicts[place] != Verdict.KEPT:
                continue
            source, target = (
                len(side.normalise(text).replace(" ", "▁").encode()) + 4  # the space and the tag before the text
                for side, text in zip(sides, pair, strict=True)
            )
            bound = max(source, target)
            if bound > longest and max(map(len, vocabularies.encode(add_tag(pair, tag)))) > longest:
                verdicts[place] = Verdict.TOO_LONG
                lines.add(Verdict.TOO_LONG, line)
                continue
            total += bound
            bounds = max(bounds[0], source), max(bounds[1], target)
            if len(longest_texts) < _CANDIDATES:
                heappush(longest_texts, (len(pair.source), pair.source))
            elif len(pair.source) > longest_texts[0][0]:
                heapreplace(longest_texts, (len(pair.source), pair.source))
        return replace(
            self,
            verdicts=np.frombuffer(verdicts, np.uint8),
            lines=lines,
            longest=longest,
            longest_source=max((len(words(text)) for _, text in longest_texts), default=0),
            longest_sides=(min(bounds[0], longest), min(bounds[1], longest)),
            tokens=total // _BYTES_PER_TOKEN,
        )

    def report(self, *, longest: int = 0, too_long: Sequence[int] = ()) -> CleaningReport:
        """`too_long` are further lines, which turned out to be too long when they were encoded."""
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
        lines = [[int(verdict), [*first]] for verdict, first in self.lines.items()]
        scripts = [sorted(side) for side in self.scripts]
        about: dict[str, Any] = {"scripts": scripts, "held_out": self.held_out, "lines": lines}
        about |= {"longest_sides": self.longest_sides, **{name: getattr(self, name) for name in _NUMBERS}}
        save_arrays(folder, {"verdicts": self.verdicts, "marks": self.marks}, about)

    @classmethod
    def load(cls, folder: Path, pairs: PairSource, cleaning: Cleaning) -> Self:
        """Load what was saved for the same pairs and cleaning."""
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


class _FirstLines(dict[int, Sequence[int]]):
    """The first few lines of each verdict."""

    def add(self, verdict: Verdict, line: int) -> None:
        if verdict is not Verdict.KEPT and len(self.get(verdict, ())) < SHOWN_LINES:
            self[verdict] = [*self.get(verdict, ()), line]


def _digest(pair: TextPair) -> int:
    text = f"{pair.source}\n{pair.target}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _find_repeated(digests: npt.NDArray[np.uint64], verdicts: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Find the places of pairs to train on that occur earlier, too."""
    places = np.flatnonzero(verdicts == Verdict.KEPT)
    repeated = np.ones(len(places), bool)
    repeated[np.unique(digests[places], return_index=True)[1]] = False
    return places[repeated]
