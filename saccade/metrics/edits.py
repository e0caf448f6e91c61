"""Edits between two texts, in any unit."""

from collections import Counter
from collections.abc import Sequence


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the fewest insertions, deletions and substitutions that turn `first` into `second` (Levenshtein 1966).

    Neighbours in a column of the table of distances differ by −1, 0 or +1, so two integers hold a column, one bit per
    row, and the next column takes a few operations whatever its height (Myers 1999, in the form of Hyyrö 2003).
    """
    if not first:
        return len(second)
    rows: dict[str, int] = {}  # the rows of `first` that hold an item
    for row, item in enumerate(first):
        rows[item] = rows.get(item, 0) | 1 << row
    mask, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    rises, falls, distance = mask, 0, len(first)  # down the column
    for item in second:
        same = rows.get(item, 0)
        level = ((((same & rises) + rises) ^ rises) | same | falls) & mask  # no step on the diagonal
        more, less = (falls | ~(level | rises)) & mask, rises & level  # steps from the last column to this one
        distance += bool(more & last) - bool(less & last)
        more, less = more << 1 | 1, less << 1  # the first row of the table rises by one per column
        rises, falls = (less | ~(level | more)) & mask, level & more
    return distance


def position_independent_errors(hypothesis: Sequence[str], reference: Sequence[str]) -> int:
    """max(|h|, |r|) − |h ∩ r|: edits where the order does not count (Tillmann and others, 1997)."""
    return max(len(hypothesis), len(reference)) - (Counter(hypothesis) & Counter(reference)).total()


def characters(text: str) -> list[str]:
    """Any run of white space counts as one space."""
    return list(" ".join(text.split()))
