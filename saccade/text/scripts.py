"""In which script a text is written, letter by letter.

Python knows no scripts, but every letter's Unicode name begins with one: CYRILLIC SMALL LETTER ZHE. Ideographs are CJK.
"""

import unicodedata
from collections import Counter
from functools import lru_cache

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
