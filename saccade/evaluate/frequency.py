"""Rare words and common ones: how well the words of each range of frequency are written.

A sentence's word counts as found as often as both its output and its reference hold it, wherever it stands. With
several references, the one that shares most with the output stands for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.evaluate.buckets import Bucket, buckets
from saccade.evaluate.references import References, alternatives, same_count
from saccade.text.words import words

FREQUENCY_EDGES = (0, 1, 5, 20, 100, 1000)


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
    same_count(hypotheses=hypotheses, references=references)
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
