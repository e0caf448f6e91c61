"""Which pairs a corpus is better without, and the report of what was left out.

A pair is left out for the first reason that applies, in the order of `Verdict`. Cleaning twice changes nothing.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, NamedTuple

from saccade.data.sources import is_empty
from saccade.errors import plural
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

    def find_scripts(self, pairs: Iterable[HasTexts]) -> Scripts:
        """Return the scripts each side must be written in: those of the options, or the one of most letters."""
        options = self.source_scripts, self.target_scripts
        if self.script is None or all(options):
            return frozenset(options[0]), frozenset(options[1])
        letters = Counter[str](), Counter[str]()
        for pair in pairs:
            letters[0].update(letters_by_script(pair.source))
            letters[1].update(letters_by_script(pair.target))
        source, target = (frozenset(options[side]) or _main_script(letters[side]) for side in (0, 1))
        return source, target

    def judge(self, pair: HasTexts, scripts: Scripts) -> Verdict:
        """Judge a pair by itself, without the rest of the corpus."""
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
                if sum(letters[script] for script in expected) < self.script * letters.total():
                    return Verdict.SCRIPT
        if self.most_words is not None or self.ratio is not None:
            fewer, more = sorted(len(words(text)) for text in sides)
            if self.most_words is not None and more > self.most_words:
                return Verdict.WORDS
            # One word may well have many on the other side: its phones, its spelling, its explanation.
            if self.ratio is not None and fewer > 1 and more > self.ratio * fewer:
                return Verdict.RATIO
        return Verdict.KEPT

    def reasons(self, scripts: Scripts, longest: int) -> Mapping[Verdict, str]:
        """Describe each verdict against a pair, to continue "left out 3 …"."""
        source, target = (" or ".join(sorted(script.capitalize() for script in side)) for side in scripts)
        return {
            Verdict.HELD_OUT_ELSEWHERE: "with a text that is held out in another corpus",
            Verdict.EMPTY: "with an empty side",
            Verdict.CONTROL: "with control characters",
            Verdict.IDENTICAL: "with two identical sides",
            Verdict.SCRIPT: f"in a script other than {source} to {target}",
            Verdict.WORDS: f"with more than {self.most_words} words on a side",
            Verdict.RATIO: f"with more than {self.ratio} times as many words on one side",
            Verdict.DUPLICATE: "repeated",
            Verdict.TOO_LONG: f"longer than {longest} tokens on a side",
        }


class LeftOut(NamedTuple):
    why: str
    pairs: int
    first: tuple[int, ...]  # lines


@dataclass(frozen=True, kw_only=True)
class CleaningReport:
    kept: int
    left_out: tuple[LeftOut, ...] = ()

    def __str__(self) -> str:
        total = self.kept + sum(group.pairs for group in self.left_out)
        report = f"kept {self.kept:,} of {plural(total, 'pair')}"
        for why, count, first in self.left_out:
            places = ", ".join(f"{line:,}" for line in first) + (", …" if count > len(first) else "")
            report += f"; left out {count:,} {why} (line{'s' * (count > 1)} {places})"
        return report


def _main_script(letters: Counter[str]) -> frozenset[str]:
    """Return the script of most letters. Chinese characters and kana count as one: Japanese is written in both."""
    japanese = sum(letters[script] for script in _JAPANESE)
    others = {script: count for script, count in letters.items() if script not in _JAPANESE}
    script = max(others, key=others.__getitem__, default="")
    return _JAPANESE if japanese > others.get(script, 0) else frozenset({script})


def _has_control(text: str) -> bool:
    if text.isprintable():  # most texts are, and this is faster
        return "\ufffd" in text
    return any(c == "\ufffd" or (unicodedata.category(c) == "Cc" and c not in "\t\n\r") for c in text)
