"""`numbers-XX`: figures to words; `figures-XX`: words to figures; `addition`: sums.

Whole numbers in words, from 0 to 999,999,999. One number has one spelling. Where usage allows several, these are used:
English without *and* (*one hundred one*), French of France in the spelling before 1990 (*vingt et un*,
*quatre-vingt-un*, *deux cents*, *deux cent un*), German with *ein* before hundert and tausend (*eintausendeinhundert*),
Chinese with 二 throughout (never 两) and 一十 inside a number, 十 at its start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from saccade.tasks.drawing import LANGUAGES, Lengths, Pair, RuleTask

LIMIT = 10**9

_listed = str.split
_ENGLISH = _listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ENGLISH_TENS = _listed("twenty thirty forty fifty sixty seventy eighty ninety")
_FRENCH = _listed(
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf"
)
_FRENCH_TENS = _listed("vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt")
_GERMAN = _listed(
    "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
_GERMAN_TENS = _listed("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_CHINESE = "零一二三四五六七八九"


def english(number: int) -> str:
    for scale, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= scale:
            head, rest = divmod(number, scale)
            return f"{english(head)} {name}" + (f" {english(rest)}" if rest else "")
    if number < 20:
        return _ENGLISH[number]
    tens, units = divmod(number, 10)
    return _ENGLISH_TENS[tens - 2] + (f"-{_ENGLISH[units]}" if units else "")


def french(number: int, *, plural: bool = True) -> str:
    """`plural`: quatre-vingts, deux cents; False before mille: deux cent mille."""
    for scale, name in ((10**6, "million"), (1000, "mille"), (100, "cent")):
        if number >= scale:
            head, rest = divmod(number, scale)
            if name == "million" or (name == "cent" and plural and not rest):
                name += "s" * (head > 1)
            before = "" if head == 1 and name != "million" else french(head, plural=name != "mille") + " "
            return before + name + (f" {french(rest, plural=plural)}" if rest else "")
    if number < 20:
        return _FRENCH[number]
    tens, units = divmod(number, 10)
    if tens in (7, 9):  # seventy is sixty and ten, ninety is eighty and ten
        units += 10
    if not units:
        return _FRENCH_TENS[tens - 2] + "s" * (plural and tens == 8)
    return _FRENCH_TENS[tens - 2] + (" et " if units in (1, 11) and tens < 8 else "-") + _FRENCH[units]


def german(number: int, *, final: bool = True) -> str:
    """`final`: eins; before another word it is ein."""
    if number >= 10**6:
        head, rest = divmod(number, 10**6)
        millions = "eine Million" if head == 1 else f"{german(head, final=False)} Millionen"
        return millions + (f" {german(rest)}" if rest else "")
    for scale, name in ((1000, "tausend"), (100, "hundert")):
        if number >= scale:
            head, rest = divmod(number, scale)
            return german(head, final=False) + name + (german(rest, final=final) if rest else "")
    if number < 20:
        return _GERMAN[number] + "s" * (final and number == 1)
    tens, units = divmod(number, 10)
    return (f"{_GERMAN[units]}und" if units else "") + _GERMAN_TENS[tens - 2]


def chinese(number: int) -> str:
    written = _chinese_parts(number, 10**4, ((10**8, "亿"), (10**4, "万"), (1, ""))) or _CHINESE[0]
    return written.removeprefix("一") if written.startswith("一十") else written


def _chinese_parts(number: int, base: int, scales: Sequence[tuple[int, str]]) -> str:
    """The parts of a number below `base`, each with the name of its scale. 零 stands for zeros between two spoken
    digits, except at the end of a group of four."""
    written, skipped = "", False
    for scale, name in scales:
        part = number // scale % base
        if part:
            gap = written and (skipped or part < base // 10)
            digits = ((1000, "千"), (100, "百"), (10, "十"), (1, ""))
            spelled = _CHINESE[part] if base == 10 else _chinese_parts(part, 10, digits)
            written += (_CHINESE[0] if gap else "") + spelled + name
        skipped = not part
    return written


SPELLERS: dict[str, Callable[[int], str]] = {"en": english, "fr": french, "de": german, "zh": chinese}


def draw_number(random: Callable[[], float], digits: Lengths) -> int:
    """A number for which each number of digits is equally likely; 0 has one digit."""
    least, most = digits
    length = least + int(random() * (most - least + 1))
    first = int(random() * 10) if length == 1 else 1 + int(random() * 9)
    return int(f"{first}" + "".join(f"{int(random() * 10)}" for _ in range(length - 1)))


@dataclass(frozen=True, kw_only=True)
class Numbers(RuleTask):
    """A split owns a number, in every language and in both directions. Each length is about equally likely."""

    language: str
    to_figures: bool = False

    name, sources, unit, words, longest = "numbers", "numbers", "digits", (1, 9), len(str(LIMIT - 1))
    joint = False

    @property
    def summary(self) -> str:
        spelled = f"{LANGUAGES[self.language]} words"
        return f"{spelled} to figures" if self.to_figures else f"figures to {spelled}"

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        figures = str(number := draw_number(random.random, words))
        if not belongs(figures):
            return None
        spelled = SPELLERS[self.language](number)
        source, target = (spelled, figures) if self.to_figures else (figures, spelled)
        return Pair(source=source, target=target)


class Addition(RuleTask):
    """`123+456` to `579`. A split owns a sum with its two numbers in either order: 1+2 and 2+1 share a split."""

    name, sources, unit, words = "addition", "sums of numbers", "digits", (1, 4)
    summary = "two numbers to their sum, in figures"

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        a, b = draw_number(random.random, words), draw_number(random.random, words)
        return Pair(source=f"{a}+{b}", target=str(a + b)) if belongs(f"{min(a, b)}+{max(a, b)}") else None
