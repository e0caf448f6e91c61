"""How many edits part two texts, in words and in characters."""

from collections import Counter
from collections.abc import Callable, Sequence

from saccade.text.words import words

Errors = Callable[[Sequence[str], Sequence[str]], int]


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The fewest insertions, deletions and substitutions that make one of the other (Levenshtein 1966).

    Neighbours in a column of the table of distances differ by −1, 0 or +1, so that two whole numbers hold a column, a
    bit a row, and the next column takes a few operations whatever its height (Myers 1999, in the form of Hyyrö 2003).
    """
    if not one:
        return len(other)
    rows: dict[str, int] = {}  # the rows of `one` that an item stands in
    for row, item in enumerate(one):
        rows[item] = rows.get(item, 0) | 1 << row
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = every, 0, len(one)  # down the column
    for item in other:
        same = rows.get(item, 0)
        level = ((((same & rises) + rises) ^ rises) | same | falls) & every  # no step on the diagonal
        more, less = (falls | ~(level | rises)) & every, rises & level  # steps from the last column to this one
        distance += bool(more & last) - bool(less & last)
        more, less = more << 1 | 1, less << 1  # the first row of the table rises by one a column
        rises, falls = (less | ~(level | more)) & every, level & more
    return distance


def unplaced_errors(one: Sequence[str], other: Sequence[str]) -> int:
    """Edits where the order does not count: max(|one|, |other|) less what both hold (Tillmann and others, 1997)."""
    return max(len(one), len(other)) - (Counter(one) & Counter(other)).total()


def characters(text: str) -> list[str]:
    """Any run of white space counts as one blank."""
    return list(" ".join(text.split()))


def errors_and_length(
    hypothesis: str, references: Sequence[str], *, cut: Callable[[str], Sequence[str]] = words, errors: Errors
) -> tuple[int, int]:
    """Against the reference with the fewest errors, the longest of those; its length is what they are a part of."""
    written = cut(hypothesis)
    known = [cut(reference) for reference in references]
    return min(((errors(written, one), len(one)) for one in known), key=lambda found: (found[0], -found[1]))
