"""Constraints on what is written: the share of them that is met."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from saccade.evaluate.phrases import occurrences
from saccade.evaluate.references import same_count
from saccade.text.words import words

Phrases = Sequence[Sequence[str]]  # of each sentence


@dataclass(frozen=True, kw_only=True)
class ConstraintScores:
    """How many phrases were to be written and how many are; how many were not to be, and are not."""

    include: int
    included: int
    exclude: int
    excluded: int
    sentences: int  # with a constraint
    satisfied: int  # of those, the ones that meet all of theirs

    @property
    def share(self) -> float | None:
        """Of all constraints, from 0 to 1."""
        given = self.include + self.exclude
        return (self.included + self.excluded) / given if given else None

    def to_dict(self) -> dict[str, float | int | None]:
        return {**asdict(self), "share": self.share}


def by_constraint(
    hypotheses: Sequence[str], include: Phrases | None = None, exclude: Phrases | None = None
) -> ConstraintScores:
    """Phrases that each output must hold, and those that it must not, word for word and in a row."""
    nothing: Phrases = [()] * len(hypotheses)
    include, exclude = nothing if include is None else include, nothing if exclude is None else exclude
    same_count(hypotheses=hypotheses, include=include, exclude=exclude)
    rows = []
    for hypothesis, must, must_not in zip(hypotheses, include, exclude, strict=True):
        text = words(hypothesis)
        included = sum(occurrences(words(phrase), text) > 0 for phrase in must)
        excluded = sum(occurrences(words(phrase), text) == 0 for phrase in must_not)
        rows.append((len(must), included, len(must_not), excluded))
    bound = [row for row in rows if row[0] + row[2]]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    return ConstraintScores(
        include=sums[0],
        included=sums[1],
        exclude=sums[2],
        excluded=sums[3],
        sentences=len(bound),
        satisfied=sum(row[0] + row[2] == row[1] + row[3] for row in bound),
    )
