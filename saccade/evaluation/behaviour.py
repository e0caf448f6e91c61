"""What a model does wrong that a score does not name: it repeats, copies the source, leaves things out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from saccade.align.weights import weight_matrix
from saccade.errors import check_same_length
from saccade.metrics import References, alternatives
from saccade.text.words import words

LONGEST_LOOP = 4  # words
UNREAD = 0.1  # of one word's worth of attention


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Percentages, but for the ratio. None: what it takes was not given."""

    length_ratio: float  # words written, to words of the reference that is nearest in length
    short: float  # of outputs: fewer than half the words of that reference
    repeated: float  # of words: they say again, in a row, the one to four words just before them
    repeated_in_references: float  # the same, of the references: what is natural
    repeated_beyond: float  # of pairs of neighbouring words: again in one output, and oftener than in any reference
    copied: float | None  # of words: they stand in the source and in no reference, or oftener than there
    unread: float | None  # of source words: hardly any attention from any word written

    def to_dict(self) -> dict[str, float | None]:
        return asdict(self)


def measure_behaviour(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    unread: Sequence[tuple[int, int]] | None = None,
) -> Behaviour:
    """`unread` is what `unread_words` says of each sentence, for a model whose weights are at hand."""
    check_same_length(hypotheses=hypotheses, references=references, **({} if sources is None else {"sources": sources}))
    written = [words(text) for text in hypotheses]
    known = [[words(one) for one in some] for some in alternatives(references)]
    nearest = [
        min((len(one) for one in some), key=lambda size: abs(size - len(mine)))
        for mine, some in zip(written, known, strict=True)
    ]
    total, both = sum(map(len, written)), list(zip(written, known, strict=True))
    expected = [one for some in known for one in some]
    return Behaviour(
        length_ratio=total / sum(nearest) if sum(nearest) else 1.0,
        short=_percent(sum(2 * len(mine) < size for mine, size in zip(written, nearest, strict=True)), len(written)),
        repeated=_percent(sum(map(repeated_words, written)), total),
        repeated_in_references=_percent(sum(map(repeated_words, expected)), sum(map(len, expected))),
        repeated_beyond=_percent(
            sum(_again(mine, some) for mine, some in both), sum(max(0, len(mine) - 1) for mine in written)
        ),
        copied=None if sources is None else _percent(_copied(written, known, sources), total),
        unread=None if unread is None else _percent(*(sum(column) for column in zip(*unread, strict=True))),
    )


def repeated_words(text: Sequence[str], longest: int = LONGEST_LOOP) -> int:
    """How many words only say again, in a row, up to `longest` words that stand just before them.

    Of "la la la maison" two; of "le chat le chat dort" two.
    """
    again = np.zeros(len(text), dtype=bool)
    for size in range(1, longest + 1):
        for start in range(size, len(text) - size + 1):
            if text[start : start + size] == text[start - size : start]:
                again[start : start + size] = True
    return int(again.sum())


def unread_words(weights: object, least: float = UNREAD) -> tuple[int, int]:
    """Of weights (T, S) between words: how many source words get less than `least` in all, and how many there are."""
    matrix = weight_matrix(weights)
    return int((matrix.sum(axis=0) < least).sum()), matrix.shape[1]


def _again(mine: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """Pairs of neighbours after their first occurrence, beyond the most that a reference has."""
    most = Counter[tuple[str, str]]()
    for one in references:
        most |= _neighbours(one)
    return sum(max(0, times - max(1, most[pair])) for pair, times in _neighbours(mine).items())


def _neighbours(text: Sequence[str]) -> Counter[tuple[str, str]]:
    return Counter(pairwise(text))


def _copied(written: Sequence[Sequence[str]], known: Sequence[Sequence[Sequence[str]]], sources: Sequence[str]) -> int:
    """Words with a letter or a digit: punctuation is the same in many languages."""
    found = 0
    for mine, some, source in zip(written, known, sources, strict=True):
        most = Counter[str]()
        for one in some:
            most |= Counter(one)
        given = set(words(source))
        surplus = Counter(mine) - most
        found += sum(times for word, times in surplus.items() if word in given and any(map(str.isalnum, word)))
    return found


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
