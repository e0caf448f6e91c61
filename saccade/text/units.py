"""Whether attention is shown, and aligned, between words or between pieces: the one rule.

Words can be compared between models and with gold links, so they are the default. But a model of characters reads and
writes letters, and a source of a single word leaves words nothing to tell apart: there, pieces are shown.
"""

from collections.abc import Collection
from typing import Literal, cast, get_args

from saccade.errors import UserError

Unit = Literal["piece", "word"]
By = Literal["auto", "piece", "word"]


def read_by(text: str) -> By:
    """The value of an option `--by`."""
    if text not in get_args(By):
        raise UserError(f"--by {text}: expected {', '.join(get_args(By))}")
    return cast("By", text)


def unit_of(by: By, *, characters: bool, source_words: Collection[int]) -> Unit:
    """`characters`: a vocabulary of the model is one of characters; `source_words`: how many words each source has."""
    if by != "auto":
        return by
    single = bool(source_words) and all(count == 1 for count in source_words)
    return "piece" if characters or single else "word"
