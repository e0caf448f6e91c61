"""Whole numbers in words: English, French, German and Chinese, from 0 to 999,999,999.

One number has one spelling. Where usage allows several, these are used: English without *and* (*one hundred one*),
French of France in the spelling before 1990 (*vingt et un*, *quatre-vingt-un*, *deux cents*, *deux cent un*), German
with *ein* before hundert and tausend (*eintausendeinhundert*), Chinese with 二 throughout (never 两) and 一十 inside a
number, 十 at its start.
"""

from collections.abc import Callable

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
    if number >= 1000:
        scale, name = (10**6, "million") if number >= 10**6 else (1000, "thousand")
        head, rest = divmod(number, scale)
        return _joined(f"{english(head)} {name}", rest, english)
    if number >= 100:
        head, rest = divmod(number, 100)
        return _joined(f"{_ENGLISH[head]} hundred", rest, english)
    if number >= 20:
        tens, units = divmod(number, 10)
        return _ENGLISH_TENS[tens - 2] + (f"-{_ENGLISH[units]}" if units else "")
    return _ENGLISH[number]


def french(number: int) -> str:
    if number >= 10**6:
        head, rest = divmod(number, 10**6)
        return _joined(f"{french(head)} {'million' if head == 1 else 'millions'}", rest, french)
    if number >= 1000:  # neither mille nor the hundreds and scores before it have a plural: deux cent mille
        head, rest = divmod(number, 1000)
        return _joined("mille" if head == 1 else f"{_french_below_1000(head)} mille", rest, french)
    plural = number % 100 == 80 or (number >= 200 and number % 100 == 0)
    return _french_below_1000(number) + ("s" if plural else "")


def _french_below_1000(number: int) -> str:
    if number >= 100:
        head, rest = divmod(number, 100)
        return _joined("cent" if head == 1 else f"{_FRENCH[head]} cent", rest, _french_below_1000)
    if number < 20:
        return _FRENCH[number]
    tens, units = divmod(number, 10)
    if tens in (7, 9):  # seventy is sixty and ten, ninety is eighty and ten
        units += 10
    if not units:
        return _FRENCH_TENS[tens - 2]
    linked = " et " if units in (1, 11) and tens < 8 else "-"
    return _FRENCH_TENS[tens - 2] + linked + _FRENCH[units]


def german(number: int) -> str:
    if number >= 10**6:
        head, rest = divmod(number, 10**6)
        return _joined("eine Million" if head == 1 else f"{_german_before(head)} Millionen", rest, german)
    return _german_before(number) + ("s" if number % 100 == 1 else "")


def _german_before(number: int) -> str:
    """A number below a million before another word: ein, not eins."""
    for scale, name in ((1000, "tausend"), (100, "hundert")):
        if number >= scale:
            head, rest = divmod(number, scale)
            return _german_before(head) + name + (_german_before(rest) if rest else "")
    if number >= 20:
        tens, units = divmod(number, 10)
        return (f"{_GERMAN[units]}und" if units else "") + _GERMAN_TENS[tens - 2]
    return _GERMAN[number]


def chinese(number: int) -> str:
    if number == 0:
        return _CHINESE[0]
    written, skipped = "", False
    for scale, name in ((10**8, "亿"), (10**4, "万"), (1, "")):
        group = number // scale % 10**4
        if group:  # 零 stands for zeros between two spoken digits, except at the end of a group
            gap = written and (skipped or group < 1000)
            written += (_CHINESE[0] if gap else "") + _chinese_group(group) + name
        skipped = not group
    return written.removeprefix("一") if written.startswith("一十") else written


def _chinese_group(number: int) -> str:
    written, gap = "", False
    for scale, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // scale % 10
        if digit:
            written += (_CHINESE[0] if gap else "") + _CHINESE[digit] + name
        gap = bool(written) and not digit
    return written


def _joined(head: str, rest: int, spell: Callable[[int], str]) -> str:
    return f"{head} {spell(rest)}" if rest else head


SPELLERS: dict[str, Callable[[int], str]] = {"en": english, "fr": french, "de": german, "zh": chinese}
