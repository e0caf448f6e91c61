"""One call for everything that can be measured on a system's outputs: scores, breakdowns, and behaviour.

Behaviour is made of faults that a score does not name: repetition, copying of the source, omission.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import or_
from typing import Any

import numpy as np

from saccade.align.links import weight_matrix
from saccade.errors import check_same_length
from saccade.evaluation.breakdowns import (
    ConstraintScores,
    FrequencyScores,
    LengthScores,
    Phrases,
    by_constraint,
    by_frequency,
    by_length,
)
from saccade.metrics import Counts, References, Scores, Tokenisation, alternatives
from saccade.text.words import words

SENTENCE_METRICS = ("bleu", "chrf", "ter", "wer", "per", "cer", "exact")
WORD_METRICS = ("word_error", "phone_error", "cer", "exact")
SINGLE_WORDS = 0.95  # data is of single words if this share of the sources is
RESAMPLES = 1000
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


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    counts: Counts  # of the metrics, for significance tests
    scores: Scores
    behaviour: Behaviour
    frequencies: tuple[FrequencyScores, ...]
    lengths: tuple[LengthScores, ...]  # empty without sources
    constraints: ConstraintScores | None

    @cached_property
    def sentence_chrf(self) -> list[float]:
        return Counts(self.counts.hypotheses, self.counts.references, metrics=["chrf"]).sentence_scores("chrf")

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.scores.to_dict(),
            "behaviour": asdict(self.behaviour),
            "by_frequency": [row.to_dict() for row in self.frequencies],
            "by_length": [row.to_dict() for row in self.lengths],
            "constraints": self.constraints and asdict(self.constraints),
        }


def evaluate(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    tokenise: Tokenisation = "auto",
    longest_trained: int | None = None,
    counts: Mapping[str, int] | None = None,
    include: Phrases | None = None,
    exclude: Phrases | None = None,
    unread: Sequence[tuple[int, int]] | None = None,
) -> Evaluation:
    """Evaluate outputs against one reference each, or several. By default, the data choose the metrics.

    `sources` give scores by their length, and the copied words; `counts` of words in training (`word_counts`) give the
    ranges of frequency; each output must `include` or `exclude` phrases; `unread` comes from `unread_words`.
    """
    check_same_length(hypotheses=hypotheses, references=references, sources=sources)
    counted = Counts(hypotheses, references, metrics=metrics or choose_metrics(sources), tokenise=tokenise)
    constrained = include is not None or exclude is not None
    return Evaluation(
        counts=counted,
        scores=counted.scores(resamples=resamples),
        behaviour=measure_behaviour(hypotheses, references, sources=sources, unread=unread),
        frequencies=by_frequency(hypotheses, references, counts=counts),
        lengths=() if sources is None else by_length(sources, counted, longest_trained=longest_trained),
        constraints=by_constraint(hypotheses, include, exclude) if constrained else None,
    )


def choose_metrics(sources: Sequence[str] | None) -> tuple[str, ...]:
    """Choose word and phone error rates for data of single words, such as pronunciations; BLEU and others otherwise."""
    if not sources:
        return SENTENCE_METRICS
    single = sum(len(words(source)) == 1 for source in sources)
    return WORD_METRICS if single >= SINGLE_WORDS * len(sources) else SENTENCE_METRICS


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
    most = reduce(or_, (Counter(pairwise(reference)) for reference in references))
    return sum(max(0, times - max(1, most[pair])) for pair, times in Counter(pairwise(output)).items())


def _copied(output: Sequence[str], references: Sequence[Sequence[str]], source: str) -> int:
    """Count words with a letter or a digit: punctuation is the same in many languages."""
    surplus, in_source = Counter(output) - reduce(or_, map(Counter, references)), set(words(source))
    return sum(times for word, times in surplus.items() if word in in_source and any(map(str.isalnum, word)))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
