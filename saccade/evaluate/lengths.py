"""Quality by source length in words: where a fixed context gives way and attention does not."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.evaluate.buckets import Bucket, buckets
from saccade.evaluate.metrics import Tokenisation
from saccade.evaluate.references import References, same_count
from saccade.evaluate.scores import USUAL, Counts, Scores
from saccade.text.words import words

LENGTH_EDGES = (5, 10, 15, 20, 30, 40, 60, 80)


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
    metrics: Sequence[str] = USUAL,
    edges: Sequence[int] = LENGTH_EDGES,
    longest_trained: int | None = None,
    tokenise: Tokenisation = "auto",
) -> tuple[LengthScores, ...]:
    """Scores for each range of source lengths; `edges` are the last lengths of the ranges.

    `longest_trained`, in words, becomes an edge too, so that no range mixes lengths inside and beyond training.
    """
    same_count(sources=sources, hypotheses=hypotheses, references=references)
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
