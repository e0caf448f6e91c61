"""Faults that a score does not name: repetition, copying of the source, omission."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from saccade.align.weights import weight_matrix
from saccade.errors import check_same_length
from saccade.metrics import References, alternatives
from saccade.text.words import words

LONGEST_LOOP = 4  # words
UNREAD = 0.1  # a source word is unread if it gets less than this in all; 1 is the attention of one target word


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Percentages, except for the ratio. None: the input for it was not given."""

    length_ratio: float  # words of the outputs to words of the references nearest in length
    short: float  # outputs with fewer than half the words of that reference
    repeated: float  # words that repeat the one to four words directly before them
    repeated_in_references: float  # the same in the references, where repetition is natural
    repeated_beyond: float  # pairs of neighbouring words that occur more often than once and than in any reference
    copied: float | None  # words that are in the source, and in no reference or less often there
    unread: float | None  # source words that got hardly any attention


def measure_behaviour(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    unread: Sequence[tuple[int, int]] | None = None,
) -> Behaviour:
    """`unread` has the result of `unread_words` for each sentence, if there are attention weights."""
    check_same_length(hypotheses=hypotheses, references=references, sources=sources)
    outputs = [words(text) for text in hypotheses]
    known = [[words(text) for text in texts] for texts in alternatives(references)]
    nearest = [
        min((len(text) for text in texts), key=lambda size: abs(size - len(output)))
        for output, texts in zip(outputs, known, strict=True)
    ]
    total, every_reference = sum(map(len, outputs)), [text for texts in known for text in texts]
    return Behaviour(
        length_ratio=total / sum(nearest) if sum(nearest) else 1.0,
        short=_percent(sum(2 * len(text) < size for text, size in zip(outputs, nearest, strict=True)), len(outputs)),
        repeated=_percent(sum(map(repeated_words, outputs)), total),
        repeated_in_references=_percent(sum(map(repeated_words, every_reference)), sum(map(len, every_reference))),
        repeated_beyond=_percent(sum(map(_repeated_pairs, outputs, known)), sum(max(0, len(o) - 1) for o in outputs)),
        copied=None if sources is None else _percent(sum(map(_copied, outputs, known, sources)), total),
        unread=None if unread is None else _percent(*(sum(column) for column in zip(*unread, strict=True))),
    )


def repeated_words(text: Sequence[str], longest: int = LONGEST_LOOP) -> int:
    """Count the words that repeat up to `longest` words directly before them: two in "la la la maison", and two in
    "le chat le chat dort"."""
    repeats = np.zeros(len(text), dtype=bool)
    for size in range(1, longest + 1):
        for start in range(size, len(text) - size + 1):
            if text[start : start + size] == text[start - size : start]:
                repeats[start : start + size] = True
    return int(repeats.sum())


def unread_words(weights: object, least: float = UNREAD) -> tuple[int, int]:
    """Count the source words that get less than `least` in all, and all source words, in weights (T, S) of words."""
    matrix = weight_matrix(weights)
    return int((matrix.sum(axis=0) < least).sum()), matrix.shape[1]


def _repeated_pairs(output: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """Count pairs of neighbours after their first occurrence, beyond the most in a reference."""
    most = Counter[tuple[str, str]]()
    for reference in references:
        most |= Counter(pairwise(reference))
    return sum(max(0, times - max(1, most[pair])) for pair, times in Counter(pairwise(output)).items())


def _copied(output: Sequence[str], references: Sequence[Sequence[str]], source: str) -> int:
    """Count words with a letter or a digit: punctuation is the same in many languages."""
    most = Counter[str]()
    for reference in references:
        most |= Counter(reference)
    surplus, in_source = Counter(output) - most, set(words(source))
    return sum(times for word, times in surplus.items() if word in in_source and any(map(str.isalnum, word)))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
