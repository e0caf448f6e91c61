"""Quality by source length in words: where a fixed context gives way and attention does not."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.evaluate.buckets import Bucket, buckets
from saccade.evaluate.scores import Scores, Tokenisation, same_count, score, tokenisation
from saccade.text.words import words

LENGTH_EDGES = (5, 10, 15, 20, 30, 40, 60, 80)


@dataclass(frozen=True, kw_only=True)
class LengthScores:
    bucket: Bucket
    sentences: int
    scores: Scores | None  # None: the bucket holds no sentence
    beyond: bool  # longer than anything in training, as far as the caller said how long that was

    def as_dict(self) -> dict[str, object]:
        scores = self.scores.as_dict() if self.scores else {}
        return {"words": self.bucket.label, "beyond_training": self.beyond, **scores, "sentences": self.sentences}


def by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    edges: Sequence[int] = LENGTH_EDGES,
    longest_trained: int | None = None,
    tokenise: Tokenisation = "auto",
) -> tuple[LengthScores, ...]:
    """Scores for each range of source lengths; `edges` are the last lengths of the ranges.

    `longest_trained`, in words, becomes an edge too, so that no range mixes lengths inside and beyond training.
    """
    same_count(sources=sources, hypotheses=hypotheses, references=references)
    tokenise = tokenisation(references, tokenise)  # one choice for all ranges, or they would not compare
    lengths = [len(words(source)) for source in sources]
    if longest_trained is not None and longest_trained not in edges:
        edges = sorted((*edges, longest_trained))
    rows = []
    for bucket in buckets(edges, lengths):
        inside = [row for row, length in enumerate(lengths) if length in bucket]
        mine, theirs = [hypotheses[row] for row in inside], [references[row] for row in inside]
        rows.append(
            LengthScores(
                bucket=bucket,
                sentences=len(inside),
                scores=score(mine, theirs, tokenise=tokenise) if inside else None,
                beyond=longest_trained is not None and bucket.low > longest_trained,
            )
        )
    return tuple(rows)
