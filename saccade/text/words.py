"""What a word is: one rule, which every language and every result shares. Also the scripts that words are written in.

A word is a run of letters and digits, with the hyphens, points and apostrophes inside it (*well-known*, *3.5*, *don't*,
*aujourd'hui*) and an apostrophe at its end; or one Chinese or Japanese ideograph or kana; or one other visible
character (punctuation). An elided article, pronoun or preposition is a word by itself: *l'homme* is *l'* and *homme*. A
combining mark or an invisible joiner belongs to the character before it (Hindi vowel signs, accents written apart,
Persian half-spaces). White space separates words and belongs to none.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Literal

_MARK = "\u0300"
_IDEOGRAPH = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_LETTER = rf"(?!{_IDEOGRAPH})\w{_MARK}*"
# French, Catalan and Italian elide these before a vowel or a mute h. Others keep their apostrophe inside: quelqu'un,
# O'Brien, п'ять, and the c'h of Breton.
_ELIDED = (
    r"(?:[djlmnstv]|c(?!.h)|(?:jus|lors|puis|quoi)?qu|ch|gl|(?:de|da|a|ne|su|co)ll|(?:a|da|de|ne|su)gl"
    r"|un|quell|quest|bell|sant|anch|com|dov|tutt|mezz|senz)['’](?=[aeiouyhàáâäãåæèéêëìíîïòóôöœùúûüÿ\d])"
)
_WORD = re.compile(
    rf"{_IDEOGRAPH}{_MARK}*"
    rf"|(?i:{_ELIDED})"
    rf"|(?:{_LETTER})+(?:[-.'’](?:{_LETTER})+)*['’]?{_MARK}*"
    rf"|(?!{_MARK})[^\w\s]{_MARK}*"
)
_MAY_JOIN = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x9f\xad\u0300-\U0010ffff]")  # most lines have none, which is faster

TextUnit = Literal["piece", "word"]
UnitChoice = Literal["auto", "piece", "word"]


class _Shape(dict[int, str]):
    """A translation table, filled as characters are met, that replaces every combining mark and joiner by one and the
    same mark: `re` has no class for them. The text keeps its length."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        joins = unicodedata.category(character) in {"Mn", "Mc", "Me", "Cf", "Cc"} and not character.isspace()
        return self.setdefault(code, _MARK if joins else character)


_SHAPE = _Shape()


def word_spans(text: str) -> list[tuple[int, int]]:
    """Find the words of `text`, as (start, end) in characters, in order."""
    shape = text.translate(_SHAPE) if _MAY_JOIN.search(text) else text
    return [match.span() for match in _WORD.finditer(shape)]


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in word_spans(text)]


def splitter(*, lower: bool, tokenised: bool) -> Callable[[str], list[str]]:
    """A function from a text to its words. `tokenised`: white space separates them; otherwise the rule above."""
    split = str.split if tokenised else words
    return (lambda text: split(text.lower())) if lower else split


@lru_cache(1 << 16)
def script(letter: str) -> str:
    """Return LATIN, CYRILLIC, CJK, HIRAGANA, HANGUL, ARABIC …, with which the letter's Unicode name begins; "" if it is
    not a letter."""
    if not letter.isalpha():
        return ""
    return unicodedata.name(letter, "").removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").partition(" ")[0]


def letters_by_script(text: str) -> Counter[str]:
    """Count the letters of each script. Marks, digits and punctuation belong to none."""
    counts = Counter(map(script, text))
    del counts[""]
    return counts


def choose_unit(by: UnitChoice, *, characters: bool, source_words: Collection[int]) -> TextUnit:
    """Choose whether attention is shown, and aligned, between words or between tokens.

    Words can be compared between models and with gold links, so they are the default. But a model of characters reads
    and writes letters, and attention over a single word is all on that word: there, tokens are shown. `characters`: a
    vocabulary of the model is one of characters. `source_words`: the number of words of each source.
    """
    if by != "auto":
        return by
    single = bool(source_words) and all(count == 1 for count in source_words)
    return "piece" if characters or single else "word"
