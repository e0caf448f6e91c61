"""What a corpus is better without, and a report of what was left out. Nothing is left out unsaid.

A pair is left out for the first reason that applies, in the order of `Verdict`; what is kept would be kept again.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, NamedTuple

from saccade.data.split import is_empty
from saccade.ranges import Checked, Count, Range
from saccade.text import HasTexts, letters_by_script, words

SHOWN_LINES = 5  # line numbers that a report keeps of each kind
_JAPANESE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})  # of one text, and Chinese has one of them

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
    control: bool = False  # leave out texts with control characters, or with the � of a broken encoding
    identical: bool = False  # leave out pairs whose sides are the same
    script: _ShareOfLetters | None = None  # least share of a side's letters that must be in its script, such as 0.5
    source_scripts: tuple[str, ...] = ()  # such as ["LATIN"]; none given: the one that most letters are in
    target_scripts: tuple[str, ...] = ()
    most_words: Count | None = None  # on a side
    ratio: Annotated[float, Range(least=1)] | None = None  # most words of one side for each of the other, such as 3.0
    duplicates: bool = False  # leave out a pair that came before

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.script is None and (self.source_scripts or self.target_scripts):
            raise ValueError("scripts are given, but not the share of letters that must be in them: set script = 0.5")

    def scripts(self, pairs: Iterable[HasTexts]) -> Scripts:
        """What each side must be written in: as given, or as most letters of all pairs are."""
        given = self.source_scripts, self.target_scripts
        if self.script is None or all(given):
            return frozenset(given[0]), frozenset(given[1])
        letters = Counter[str](), Counter[str]()
        for pair in pairs:
            for counts, text in zip(letters, (pair.source, pair.target), strict=True):
                counts.update(letters_by_script(text))
        source, target = (frozenset(asked) or _most(found) for asked, found in zip(given, letters, strict=True))
        return source, target

    def judge(self, pair: HasTexts, scripts: Scripts) -> Verdict:
        """What can be said of a pair by itself."""
        if is_empty(pair):
            return Verdict.EMPTY
        sides = (pair.source, pair.target)
        if self.control and any(map(_has_control, sides)):
            return Verdict.CONTROL
        if self.identical and pair.source.strip() == pair.target.strip():
            return Verdict.IDENTICAL
        if self.script is not None:
            for text, expected in zip(sides, scripts, strict=True):
                letters = letters_by_script(text)
                inside = sum(letters[script] for script in expected)
                if inside < self.script * letters.total():
                    return Verdict.SCRIPT
        if self.most_words is not None or self.ratio is not None:
            fewer, more = sorted(len(words(text)) for text in sides)
            if self.most_words is not None and more > self.most_words:
                return Verdict.WORDS
            if self.ratio is not None and more > self.ratio * fewer:
                return Verdict.RATIO
        return Verdict.KEPT

    def reasons(self, scripts: Scripts, longest: int) -> Mapping[Verdict, str]:
        """Each verdict against a pair, in words that go on from "left out 3 …"."""
        source, target = (" or ".join(sorted(script.capitalize() for script in side)) for side in scripts)
        return {
            Verdict.HELD_OUT_ELSEWHERE: "with a text that is held out in another corpus",
            Verdict.EMPTY: "empty on a side",
            Verdict.CONTROL: "with control characters",
            Verdict.IDENTICAL: "with two sides that are the same",
            Verdict.SCRIPT: f"in another script than {source} to {target}",
            Verdict.WORDS: f"of more than {self.most_words} words on a side",
            Verdict.RATIO: f"with more than {self.ratio} words for one of the other side",
            Verdict.DUPLICATE: "that came before",
            Verdict.TOO_LONG: f"longer than {longest} pieces on a side",
        }


class LeftOut(NamedTuple):
    why: str
    pairs: int
    first: tuple[int, ...]  # lines


@dataclass(frozen=True, kw_only=True)
class CleaningReport:
    """What became of the pairs that were given."""

    kept: int
    left_out: tuple[LeftOut, ...] = ()

    def __str__(self) -> str:
        said = f"kept {self.kept:,} of {self.kept + sum(group.pairs for group in self.left_out):,} pairs"
        for why, count, first in self.left_out:
            places = ", ".join(f"{line:,}" for line in first) + (", …" if count > len(first) else "")
            said += f"; left out {count:,} {why} (line{'s' * (count > 1)} {places})"
        return said


def _most(letters: Counter[str]) -> frozenset[str]:
    """The script of most letters. Chinese characters and kana are one: Japanese is written in both."""
    japanese = sum(letters[script] for script in _JAPANESE)
    script, count = max(((s, n) for s, n in letters.items() if s not in _JAPANESE), key=lambda x: x[1], default=("", 0))
    return _JAPANESE if japanese > count else frozenset({script})


def _has_control(text: str) -> bool:
    if text.isprintable():  # most texts are, and this is quicker
        return "\ufffd" in text
    return any(one == "\ufffd" or (unicodedata.category(one) == "Cc" and one not in "\t\n\r") for one in text)
