"""Phrases in outputs: constraints that must be met, and the senses of ambiguous words.

A translation of an ambiguous word is *right* if it has a form of the right sense and none of a wrong one, *wrong* if it
has a form of a wrong sense, and *neither* if it has no form at all. Only right counts towards accuracy, so a model that
drops the word does not score like one that guesses; chance and a control (such as the same sentences without their cue)
are reported beside it.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from saccade.errors import check_same_length
from saccade.evaluation.breakdowns import Bucket, buckets
from saccade.text.words import words

DISTANCE_EDGES = (5, 10, 15, 20)

Phrases = Sequence[Sequence[str]]  # the phrases of each sentence
Verdict = Literal["right", "wrong", "neither"]


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
    check_same_length(hypotheses=hypotheses, include=include, exclude=exclude)
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


@dataclass(frozen=True, kw_only=True)
class AmbiguousWord:
    """One occurrence: the forms that would be right, those that would be wrong, and where its cue is.

    A form may be several words, as a Chinese one often is. `distance` counts words from the ambiguous one to its cue,
    negative before it; `chance` is what a guess gets right.
    """

    right: Collection[str]
    wrong: Collection[str]
    distance: int
    chance: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.right, str) or isinstance(self.wrong, str):
            raise ValueError(f"forms must be collections of strings, got {self.right!r} and {self.wrong!r}")
        if not self.right or not all(words(form) for form in (*self.right, *self.wrong)):
            raise ValueError(f"forms must not be empty, got right {list(self.right)} and wrong {list(self.wrong)}")
        if both := {form.casefold() for form in self.right} & {form.casefold() for form in self.wrong}:
            raise ValueError(f"{sorted(both)} cannot be right and wrong at once")


@dataclass(frozen=True, kw_only=True)
class DistanceScores:
    """Counts, and fractions from 0 to 1 that are None where there is nothing to divide by."""

    bucket: Bucket
    items: int
    right: int
    wrong: int
    neither: int
    accuracy: float | None
    chance: float | None
    control: float | None  # the control's accuracy on the same items

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "bucket": self.bucket.label}


def judge_sense(hypothesis: str, item: AmbiguousWord) -> Verdict:
    text = words(hypothesis.casefold())
    if any(occurrences(words(form.casefold()), text) for form in item.wrong):
        return "wrong"
    return "right" if any(occurrences(words(form.casefold()), text) for form in item.right) else "neither"


def by_distance(
    hypotheses: Sequence[str],
    items: Sequence[AmbiguousWord],
    *,
    control: Sequence[str] | None = None,
    edges: Sequence[int] = DISTANCE_EDGES,
) -> tuple[DistanceScores, ...]:
    """Accuracy for each range of |distance|, a hypothesis an item; no edges give one row over everything."""
    check_same_length(hypotheses=hypotheses, items=items, **({} if control is None else {"control": control}))
    verdicts = [judge_sense(hypothesis, item) for hypothesis, item in zip(hypotheses, items, strict=True)]
    controls = None if control is None else [judge_sense(text, item) for text, item in zip(control, items, strict=True)]
    distances = [abs(item.distance) for item in items]
    rows = []
    for bucket in buckets(edges, distances):
        inside = [row for row, distance in enumerate(distances) if distance in bucket]
        here = [verdicts[row] for row in inside]
        rows.append(
            DistanceScores(
                bucket=bucket,
                items=len(inside),
                right=here.count("right"),
                wrong=here.count("wrong"),
                neither=here.count("neither"),
                accuracy=_mean([verdict == "right" for verdict in here]),
                chance=_mean([items[row].chance for row in inside]),
                control=None if controls is None else _mean([controls[row] == "right" for row in inside]),
            )
        )
    return tuple(rows)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def occurrences(phrase: Sequence[str], text: Sequence[str]) -> int:
    """How often the words of `phrase` stand in `text`, in a row; occurrences may overlap."""
    size = len(phrase)
    return sum(list(text[start : start + size]) == list(phrase) for start in range(len(text) - size + 1))
