"""Ambiguous words: is the sense that a cue decides the one translated, by the distance of the cue?

A translation is *right* if it has a form of the right sense and none of a wrong one, *wrong* if it has a form of a
wrong sense, and *neither* if it has no form at all. Only right counts towards accuracy, so a model that drops the word
does not pass for one that guesses; chance and a control (the same sentences without their cue, say) stand beside it.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from saccade.evaluate.buckets import Bucket, buckets
from saccade.evaluate.phrases import occurrences
from saccade.evaluate.references import same_count
from saccade.text.words import words

DISTANCE_EDGES = (5, 10, 15, 20)

Verdict = Literal["right", "wrong", "neither"]


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


def judge(hypothesis: str, item: AmbiguousWord) -> Verdict:
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
    same_count(hypotheses=hypotheses, items=items, **({} if control is None else {"control": control}))
    verdicts = [judge(hypothesis, item) for hypothesis, item in zip(hypotheses, items, strict=True)]
    controls = None if control is None else [judge(text, item) for text, item in zip(control, items, strict=True)]
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
