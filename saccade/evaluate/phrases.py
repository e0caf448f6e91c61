"""Where words stand together in a text."""

from collections.abc import Sequence


def occurrences(phrase: Sequence[str], text: Sequence[str]) -> int:
    """How often the words of `phrase` stand in `text`, in a row; occurrences may overlap."""
    size = len(phrase)
    return sum(list(text[start : start + size]) == list(phrase) for start in range(len(text) - size + 1))
