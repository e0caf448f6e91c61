"""Phrases in outputs: constraints, and the senses of ambiguous words.

A translation of an ambiguous word is *right* if it has a form of the right sense and none of a wrong one, *wrong* if it
has a form of a wrong sense, and *neither* if it has no form at all. Only right counts towards accuracy, so a model that
drops the word does not score like one that guesses. Chance and a control, such as the same sentences without their cue,
are reported beside it.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from saccade.errors import check_same_length
from saccade.evaluation.breakdowns import Bucket, buckets
from saccade.text.words import words

DISTANCE_EDGES = (5, 10, 15, 20)

Phrases = Sequence[Sequence[str]]  # the phrases of each sentence
Verdict = Literal["right", "wrong", "neither"]


@dataclass(frozen=True)
class ConstraintScores:
    include: int  # phrases that were required
    included: int
    exclude: int  # phrases that were forbidden
    excluded: int
    sentences: int  # with a constraint
    satisfied: int  # sentences that meet all their constraints

    @property
    def share(self) -> float | None:
        """The share of constraints that are met, from 0 to 1."""
        total = self.include + self.exclude
        return (self.included + self.excluded) / total if total else None

    def to_dict(self) -> dict[str, float | int | None]:
        return {**asdict(self), "share": self.share}


def by_constraint(
    hypotheses: Sequence[str], include: Phrases | None = None, exclude: Phrases | None = None
) -> ConstraintScores:
    """Count the phrases that outputs contain as required, or avoid as required, word for word."""
    nothing: Phrases = [()] * len(hypotheses)
    include, exclude = nothing if include is None else include, nothing if exclude is None else exclude
    check_same_length(hypotheses=hypotheses, include=include, exclude=exclude)
    rows = []
    for hypothesis, must, must_not in zip(hypotheses, include, exclude, strict=True):
        text = words(hypothesis)
        included = sum(count_phrase(words(phrase), text) > 0 for phrase in must)
        excluded = sum(count_phrase(words(phrase), text) == 0 for phrase in must_not)
        rows.append((len(must), included, len(must_not), excluded))
    constrained = [row for row in rows if row[0] + row[2]]
    satisfied = sum(row[0] + row[2] == row[1] + row[3] for row in constrained)
    required, included, forbidden, excluded = (sum(column) for column in zip(*rows, strict=True))
    return ConstraintScores(required, included, forbidden, excluded, len(constrained), satisfied)


@dataclass(frozen=True, kw_only=True)
class AmbiguousWord:
    """One occurrence: the forms that would be right, the forms that would be wrong, and the place of its cue.

    A form may be several words, as a Chinese one often is. `distance` counts words from the ambiguous word to its cue,
    negative before it; `chance` is the accuracy of a guess.
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
        if common := {form.casefold() for form in self.right} & {form.casefold() for form in self.wrong}:
            raise ValueError(f"{sorted(common)} cannot be right and wrong at once")


@dataclass(frozen=True)
class DistanceScores:
    """Counts, and fractions from 0 to 1, which are None where the denominator is 0."""

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
    if any(count_phrase(words(form.casefold()), text) for form in item.wrong):
        return "wrong"
    return "right" if any(count_phrase(words(form.casefold()), text) for form in item.right) else "neither"


def by_distance(
    hypotheses: Sequence[str],
    items: Sequence[AmbiguousWord],
    *,
    control: Sequence[str] | None = None,
    edges: Sequence[int] = DISTANCE_EDGES,
) -> tuple[DistanceScores, ...]:
    """Score each range of |distance|, one hypothesis per item; without edges, all items at once."""
    check_same_length(hypotheses=hypotheses, items=items, control=control)
    verdicts = list(map(judge_sense, hypotheses, items))
    controls = None if control is None else list(map(judge_sense, control, items))
    distances = [abs(item.distance) for item in items]
    rows = []
    for bucket in buckets(edges, distances):
        places = [place for place, distance in enumerate(distances) if distance in bucket]
        judged = [verdicts[place] for place in places]
        accuracy = _mean([verdict == "right" for verdict in judged])
        chance = _mean([items[place].chance for place in places])
        of_control = None if controls is None else _mean([controls[place] == "right" for place in places])
        right, wrong, neither = map(judged.count, get_args(Verdict))
        rows.append(DistanceScores(bucket, len(places), right, wrong, neither, accuracy, chance, of_control))
    return tuple(rows)


def count_phrase(phrase: Sequence[str], text: Sequence[str]) -> int:
    """Count how often the words of `phrase` follow each other in `text`; occurrences may overlap."""
    size = len(phrase)
    return sum(list(text[start : start + size]) == list(phrase) for start in range(len(text) - size + 1))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
