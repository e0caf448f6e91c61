"""What a word is, for alignments and for length: the one rule that every language and every result shares.

A word is a run of letters and digits (inner hyphens and decimal points kept, a closing apostrophe kept, so French
*l'homme* is *l'* and *homme*), or one Chinese, Japanese or Korean ideograph or kana, or one other visible character
(punctuation). A combining mark or an invisible joiner belongs to the character before it (Hindi vowel signs, accents
written apart, Persian half-spaces). White space separates and belongs to no word.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from typing import Literal, cast, get_args

from saccade.errors import UserError

_MARK = "\u0300"
_IDEOGRAPH = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_LETTER = rf"(?!{_IDEOGRAPH})\w{_MARK}*"
_WORD = re.compile(
    rf"{_IDEOGRAPH}{_MARK}*|(?:{_LETTER})+(?:[-.](?:{_LETTER})+)*['’]?{_MARK}*|(?!{_MARK})[^\w\s]{_MARK}*"
)


class _Shape(dict[int, str]):
    """A translation table, filled as characters are met, that writes every mark and joiner as one and the same mark:
    `re` has no class for them, and the text keeps its length."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        joins = unicodedata.category(character) in {"Mn", "Mc", "Me", "Cf", "Cc"} and not character.isspace()
        return self.setdefault(code, _MARK if joins else character)


_SHAPE = _Shape()
_MAY_JOIN = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f\xad\u0300-\U0010ffff]")  # most lines hold none: quicker


def word_spans(text: str) -> list[tuple[int, int]]:
    """The words of `text` as (start, end) character offsets, in order."""
    shape = text.translate(_SHAPE) if _MAY_JOIN.search(text) else text
    return [match.span() for match in _WORD.finditer(shape)]


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


_WIDTHS = ("FULLWIDTH ", "HALFWIDTH ")


@lru_cache(1 << 16)
def script(letter: str) -> str:
    """LATIN, CYRILLIC, CJK, HIRAGANA, HANGUL, ARABIC …; "" of what is no letter."""
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "")
    for width in _WIDTHS:
        name = name.removeprefix(width)
    return name.partition(" ")[0]


def letters_by_script(text: str) -> Counter[str]:
    """How many letters of each script; marks, figures and punctuation are of none."""
    counts = Counter(map(script, text))
    del counts[""]
    return counts


TextUnit = Literal["piece", "word"]
UnitChoice = Literal["auto", "piece", "word"]


def parse_unit(text: str) -> UnitChoice:
    """The value of an option `--by`."""
    if text not in get_args(UnitChoice):
        raise UserError(f"--by {text}: expected {', '.join(get_args(UnitChoice))}")
    return cast("UnitChoice", text)


def choose_unit(by: UnitChoice, *, characters: bool, source_words: Collection[int]) -> TextUnit:
    """`characters`: a vocabulary of the model is one of characters; `source_words`: how many words each source has."""
    if by != "auto":
        return by
    single = bool(source_words) and all(count == 1 for count in source_words)
    return "piece" if characters or single else "word"
