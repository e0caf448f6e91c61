"""Which pairs a corpus is better without, which are held out for validation, and the report of what was left out.

A pair is left out for the first reason that applies, in the order of `Verdict`. Cleaning twice changes nothing.
"""

import hashlib
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from saccade.data.sources import TextPair, is_empty
from saccade.errors import UserError, plural
from saccade.ranges import Checked, Count, Help, OptionError, Range
from saccade.text import HasTexts, letters_by_script, words

SHOWN_LINES = 5  # line numbers in a report, for each reason
_JAPANESE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})  # in one text; Chinese has the first only

_LengthRatio = Annotated[float, Range(least=1)]
_ShareOfLetters = Annotated[float, Range(least=0.5, most=1)]
Scripts = tuple[frozenset[str], frozenset[str]]  # of the source, of the target


class Verdict(IntEnum):
    KEPT = 0
    HELD_OUT = 1
    HELD_OUT_ELSEWHERE = 2
    EMPTY = 3
    CONTROL = 4
    IDENTICAL = 5
    SCRIPT = 6
    WORDS = 7
    RATIO = 8
    DUPLICATE = 9
    TOO_LONG = 10


@dataclass(frozen=True, kw_only=True)
class Cleaning(Checked):
    control: Annotated[bool, Help("Leave out texts with control characters, or the � of a broken encoding.")] = False
    identical: Annotated[bool, Help("Leave out pairs whose two sides are the same.")] = False
    script: Annotated[_ShareOfLetters | None, Help("Minimum share of a side's letters in its scripts.")] = None
    source_scripts: Annotated[tuple[str, ...], Help('Scripts such as ["LATIN"]; by default, the most frequent.')] = ()
    target_scripts: Annotated[tuple[str, ...], Help("The target's scripts, in the same way.")] = ()
    most_words: Annotated[Count | None, Help("Maximum number of words on a side.")] = None
    ratio: Annotated[_LengthRatio | None, Help("Maximum ratio of the two sides' words, except for single words.")] = (
        None
    )
    duplicates: Annotated[bool, Help("Leave out repetitions of a pair.")] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.script is None and (self.source_scripts or self.target_scripts):
            raise OptionError("script", "must be set if scripts are listed: set script = 0.5")

    def judge(self, pair: HasTexts) -> Verdict:
        """Judge a pair by itself. Scripts and duplicates need the rest of the corpus."""
        if is_empty(pair):
            return Verdict.EMPTY
        sides = (pair.source, pair.target)
        if self.control and any(map(_has_control, sides)):
            return Verdict.CONTROL
        if self.identical and pair.source.strip() == pair.target.strip():
            return Verdict.IDENTICAL
        if self.most_words is not None or self.ratio is not None:
            fewer, more = sorted(len(words(text)) for text in sides)
            if self.most_words is not None and more > self.most_words:
                return Verdict.WORDS
            # One word may well have many on the other side: its phones, its spelling, its explanation.
            if self.ratio is not None and fewer > 1 and more > self.ratio * fewer:
                return Verdict.RATIO
        return Verdict.KEPT

    def reasons(self, scripts: Scripts, longest: int, unit: str = "pair") -> Mapping[Verdict, str]:
        """Describe each verdict against a pair, or against another `unit`, to continue "left out 3 …"."""
        empty, side = ("with an empty side", " on a side") if unit == "pair" else ("empty", "")
        source, target = (" or ".join(sorted(script.capitalize() for script in side)) for side in scripts)
        return {
            Verdict.HELD_OUT_ELSEWHERE: "with a text that is held out in another corpus",
            Verdict.EMPTY: empty,
            Verdict.CONTROL: "with control characters",
            Verdict.IDENTICAL: "with two identical sides",
            Verdict.SCRIPT: f"in a script other than {source} to {target}",
            Verdict.WORDS: f"with more than {self.most_words} words{side}",
            Verdict.RATIO: f"with more than {self.ratio} times as many words on one side",
            Verdict.DUPLICATE: "repeated",
            Verdict.TOO_LONG: f"longer than {longest} tokens{side}",
        }


class ScriptRule:
    """Collects the letters of every pair; in the end, finds the script of each side and the pairs that are not in it.
    Memory: four bytes per pair."""

    def __init__(self, cleaning: Cleaning) -> None:
        self._share = cleaning.script or 0.0
        self.named = frozenset(cleaning.source_scripts), frozenset(cleaning.target_scripts)
        self._letters = Counter[str](), Counter[str]()
        self._kinds: dict[tuple[frozenset[frozenset[str]] | None, ...], int] = {}
        self._kind_of_pairs = array("I")

    def add(self, pair: TextPair) -> None:
        """A pair is as good as any other whose sides have enough letters of the same scripts."""
        kind = []
        for text, letters, named in zip(pair, self._letters, self.named, strict=True):
            counts = letters_by_script(text)
            letters.update(counts)
            groups = Counter[frozenset[str]]()
            for script, count in counts.items():
                groups[_group(script, named)] += count
            enough = frozenset(group for group, count in groups.items() if count >= self._share * counts.total())
            kind.append(enough if groups else None)
        self._kind_of_pairs.append(self._kinds.setdefault(tuple(kind), len(self._kinds)))

    def decide(self) -> tuple[Scripts, npt.NDArray[np.bool_]]:
        """Return the scripts, named or of most letters, and for each pair whether a side is in another one."""
        source, target = map(lambda named, letters: named or _main_script(letters), self.named, self._letters)
        scripts = source, target
        differs = [
            any(enough is not None and script not in enough for enough, script in zip(kind, scripts, strict=True))
            for kind in self._kinds
        ]
        return scripts, np.array(differs, bool)[np.frombuffer(self._kind_of_pairs, np.uint32)]


class LeftOut(NamedTuple):
    why: str
    pairs: int
    first: tuple[int, ...]  # lines


@dataclass(frozen=True, kw_only=True)
class CleaningReport:
    kept: int
    left_out: tuple[LeftOut, ...] = ()
    unit: str = "pair"

    def __str__(self) -> str:
        total = self.kept + sum(group.pairs for group in self.left_out)
        report = f"kept {self.kept:,} of {plural(total, self.unit)}"
        for why, count, first in self.left_out:
            places = ", ".join(f"{line:,}" for line in first) + (", …" if count > len(first) else "")
            report += f"; left out {count:,} {why} (line{'s' * (count > 1)} {places})"
        return report


def _group(script: str, named: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the scripts that count as one with it. Japanese is written in Chinese characters and kana."""
    return named if script in named else _JAPANESE if script in _JAPANESE else frozenset({script})


def _main_script(letters: Counter[str]) -> frozenset[str]:
    groups = Counter[frozenset[str]]()
    for script, count in letters.items():
        groups[_group(script)] += count
    return max(groups, key=lambda group: (groups[group], group != _JAPANESE), default=frozenset({""}))


def _has_control(text: str) -> bool:
    if text.isprintable():  # most texts are, and this is faster
        return "\ufffd" in text
    return any(c == "\ufffd" or (unicodedata.category(c) == "Cc" and c not in "\t\n\r") for c in text)


@dataclass(frozen=True)
class Split:
    """Pairs are held out by their source, whole groups at a time: no held-out source is seen in training, not even one
    that differs only in case or white space. The choice depends on the pairs and the seed, not on the order of the
    pairs."""

    seed: int
    held_out: frozenset[int]

    @classmethod
    def of(
        cls,
        pairs: Iterable[HasTexts],
        *,
        seed: int = 1,
        share: float = 0.05,
        most: int = 2000,
        name: str = "the pairs",
        unit: str = "pair",
    ) -> Self:
        """Hold out about `share` of the pairs, at least 1 and at most `most`. Error messages say `name` and `unit`."""
        groups, count = SourceGroups(seed, most), 0
        for count, pair in enumerate((pair for pair in pairs if not is_empty(pair)), 1):
            groups.add(count - 1, pair.source)
        return cls(seed, groups.choose(np.ones(count, bool), share=share, most=most, name=name, unit=unit))

    def __contains__(self, pair: HasTexts) -> bool:
        """Tell whether the pair is held out. An empty pair never is."""
        return not is_empty(pair) and text_key(pair.source, self.seed) in self.held_out

    def judge(self, pair: TextPair, elsewhere: frozenset[int] = frozenset()) -> Verdict:
        """Tell whether the pair is held out here, or a text on either side is a held-out source `elsewhere`."""
        if pair in self:
            return Verdict.HELD_OUT
        is_elsewhere = elsewhere and any(text_key(text, self.seed) in elsewhere for text in pair)
        return Verdict.HELD_OUT_ELSEWHERE if is_elsewhere else Verdict.KEPT


class SourceGroups:
    """The places of pairs with the same source, for a `Split`. Only the groups with the smallest keys are in memory,
    which does not grow with the corpus: twice as many as are needed if each is a single pair, since some are too large.
    """

    def __init__(self, seed: int, most: int) -> None:
        self._seed, self._most, self._bound = seed, 2 * most + 100, 1 << 64
        self._groups: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))

    def add(self, place: int, source: str) -> None:
        if (key := text_key(source, self._seed)) < self._bound:
            self._groups[key].append(place)
            # A key that is among the smallest in the end was below the bound always.
            if len(self._groups) == 2 * self._most:
                for large in sorted(self._groups)[self._most :]:
                    del self._groups[large]
                self._bound = max(self._groups) + 1

    def choose(
        self, kept: npt.NDArray[np.bool_], *, share: float, most: int, name: str, unit: str = "pair"
    ) -> frozenset[int]:
        """Choose the keys to hold out of the pairs that are `kept`."""
        total = int(kept.sum())
        sizes = ((key, int(kept[np.frombuffer(places, np.int64)].sum())) for key, places in self._groups.items())
        counts = {key: count for key, count in sizes if count}
        if len(counts) < 2:
            alike, needed = ("all of one source", "sources") if unit == "pair" else ("all alike", f"different {unit}s")
            raise UserError(
                f"{name}: {plural(total, unit)}{f', {alike}' * (total > 1)}; expected at least 2 {needed}, to hold one "
                f"out for validation: give more {unit}s, or a validation file (--valid)"
            )
        room = max(1, min(most, round(share * total), total - 1))  # at least one pair is left to train on
        held_out = []
        for group, count in sorted(counts.items()):  # the order of the keys is a seeded shuffle
            if count <= room:
                held_out.append(group)
                room -= count
        smallest = min(counts, key=lambda group: (counts[group], group))
        return frozenset(held_out or [smallest])


def text_key(text: str, seed: int) -> int:
    """Hash a text, ignoring case and white space."""
    plain = " ".join(text.casefold().split())
    digest = hashlib.blake2b(plain.encode(), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little")
