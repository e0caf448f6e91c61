"""Scores broken down by the source's length and by the frequency of words."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.errors import UserError, check_same_length
from saccade.metrics import DEFAULT_METRICS, Counts, References, Scores, Tokenisation, alternatives
from saccade.text.words import words

LENGTH_EDGES = (5, 10, 15, 20, 30, 40, 60, 80)
FREQUENCY_EDGES = (0, 1, 5, 20, 100, 1000)


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The whole numbers from `low` to `high`, both included; without a `high` it has no end."""

    low: int
    high: int | None

    def __contains__(self, number: int) -> bool:
        return self.low <= number and (self.high is None or number <= self.high)

    @property
    def label(self) -> str:
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def buckets(edges: Sequence[int], numbers: Sequence[int]) -> tuple[Bucket, ...]:
    """One bucket up to each edge (included), and an open one where a number lies beyond the last.

    The first bucket begins at 1, or at 0 where there is a 0, so that every number has exactly one bucket. An edge of 0
    gives 0 a bucket of its own, where there is one.
    """
    if any(low >= high for low, high in zip((-1, *edges), edges, strict=False)):
        raise UserError(f"bucket edges must be whole numbers ≥ 0 that increase, such as 10,20,40; got {list(edges)}")
    if any(number < 0 for number in numbers):
        raise UserError(f"only numbers ≥ 0 fall into buckets; got {min(numbers)}")
    if 0 not in numbers:
        edges = [edge for edge in edges if edge]
    lows = [0 if 0 in numbers else 1, *(edge + 1 for edge in edges)]
    closed = [Bucket(low=low, high=high) for low, high in zip(lows, edges, strict=False)]
    reaches_past = not edges or any(number > edges[-1] for number in numbers)
    return (*closed, Bucket(low=lows[-1], high=None)) if reaches_past else tuple(closed)


@dataclass(frozen=True, kw_only=True)
class LengthScores:
    bucket: Bucket
    sentences: int
    scores: Scores | None  # None: the bucket holds no sentence
    beyond: bool  # longer than anything in training, as far as the caller said how long that was

    def to_dict(self) -> dict[str, object]:
        scores = self.scores.to_dict() if self.scores else {}
        return {"words": self.bucket.label, "beyond_training": self.beyond, **scores, "sentences": self.sentences}


def by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    edges: Sequence[int] = LENGTH_EDGES,
    longest_trained: int | None = None,
    tokenise: Tokenisation = "auto",
) -> tuple[LengthScores, ...]:
    """Scores for each range of source lengths; `edges` are the last lengths of the ranges.

    `longest_trained`, in words, becomes an edge too, so that no range mixes lengths inside and beyond training.
    """
    check_same_length(sources=sources, hypotheses=hypotheses, references=references)
    counts = Counts(hypotheses, references, metrics=metrics, tokenise=tokenise)
    return counts_by_length(sources, counts, edges=edges, longest_trained=longest_trained)


def counts_by_length(
    sources: Sequence[str],
    counts: Counts,
    *,
    edges: Sequence[int] = LENGTH_EDGES,
    longest_trained: int | None = None,
) -> tuple[LengthScores, ...]:
    """The same of what is counted already."""
    lengths = [len(words(source)) for source in sources]
    if longest_trained is not None and longest_trained not in edges:
        edges = sorted((*edges, longest_trained))
    rows = []
    for bucket in buckets(edges, lengths):
        inside = [row for row, length in enumerate(lengths) if length in bucket]
        rows.append(
            LengthScores(
                bucket=bucket,
                sentences=len(inside),
                scores=counts.scores(inside) if inside else None,
                beyond=longest_trained is not None and bucket.low > longest_trained,
            )
        )
    return tuple(rows)


@dataclass(frozen=True, kw_only=True)
class FrequencyScores:
    """Counts of words, and fractions from 0 to 1 that are None where there is nothing to divide by."""

    bucket: Bucket  # of the number of times that the word was counted
    found: int
    written: int
    expected: int

    @property
    def precision(self) -> float | None:
        return self.found / self.written if self.written else None

    @property
    def recall(self) -> float | None:
        return self.found / self.expected if self.expected else None

    @property
    def f(self) -> float | None:
        both = self.written + self.expected
        return 2 * self.found / both if both else None

    def to_dict(self) -> dict[str, object]:
        shares = {"precision": self.precision, "recall": self.recall, "f": self.f}
        counts = {"found": self.found, "written": self.written, "expected": self.expected}
        return {"frequency": self.bucket.label, **shares, **counts}


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in the texts, such as the targets of training."""
    return Counter(word for text in texts for word in words(text))


def by_frequency(
    hypotheses: Sequence[str],
    references: References,
    *,
    counts: Mapping[str, int] | None = None,
    edges: Sequence[int] = FREQUENCY_EDGES,
) -> tuple[FrequencyScores, ...]:
    """Of the words written and expected, a row a range of `counts`; without any, those of the references are taken."""
    check_same_length(hypotheses=hypotheses, references=references)
    every = alternatives(references)
    if counts is None:
        counts = word_counts(some[0] for some in every)
    found, written, expected = Counter[int](), Counter[int](), Counter[int]()
    for hypothesis, some in zip(hypotheses, every, strict=True):
        mine = Counter(words(hypothesis))
        theirs = max((Counter(words(one)) for one in some), key=lambda other: (mine & other).total())
        for tally, of in ((found, mine & theirs), (written, mine), (expected, theirs)):
            for word, times in of.items():
                tally[counts.get(word, 0)] += times
    return tuple(
        FrequencyScores(
            bucket=bucket,
            found=_inside(found, bucket),
            written=_inside(written, bucket),
            expected=_inside(expected, bucket),
        )
        for bucket in buckets(edges, sorted(written | expected))
    )


def _inside(tally: Counter[int], bucket: Bucket) -> int:
    return sum(times for frequency, times in tally.items() if frequency in bucket)
