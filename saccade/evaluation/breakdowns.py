"""Scores by source length, by the frequency of words, by constraint, and by the distance of an ambiguous word's cue.

A translation of an ambiguous word is *right* if it has a form of the right sense and none of a wrong one, *wrong* if it
has a form of a wrong sense, and *neither* if it has no form at all. Only right counts towards accuracy, so a model that
drops the word does not score like one that guesses. Chance and a control, such as the same sentences without their cue,
are reported beside it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from saccade.errors import UserError, check_same_length
from saccade.metrics import Counts, References, Scores, alternatives
from saccade.text.words import words

LENGTH_EDGES = (5, 10, 15, 20, 30, 40, 60, 80)
FREQUENCY_EDGES = (0, 1, 5, 20, 100, 1000)
DISTANCE_EDGES = (5, 10, 15, 20)

Phrases = Sequence[Sequence[str]]  # the phrases of each sentence
Verdict = Literal["right", "wrong", "neither"]


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The integers from `low` to `high`, both included; without an end if `high` is None."""

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
    """Make one bucket up to each edge (included), and an open one if a number is beyond the last.

    The first bucket begins at 1, or at 0 if there is a 0, so that every number has exactly one bucket. An edge of 0
    gives the 0 its own bucket, if there is one.
    """
    if any(low >= high for low, high in zip((-1, *edges), edges, strict=False)):
        raise UserError(f"bucket edges must be integers ≥ 0 that increase, such as 10,20,40; got {list(edges)}")
    if any(number < 0 for number in numbers):
        raise UserError(f"only numbers ≥ 0 fall into buckets; got {min(numbers)}")
    if 0 not in numbers:
        edges = [edge for edge in edges if edge]
    lows = [0 if 0 in numbers else 1, *(edge + 1 for edge in edges)]
    closed = [Bucket(low=low, high=high) for low, high in zip(lows, edges, strict=False)]
    needs_open = not edges or any(number > edges[-1] for number in numbers)
    return (*closed, Bucket(low=lows[-1], high=None)) if needs_open else tuple(closed)


@dataclass(frozen=True)
class LengthScores:
    bucket: Bucket
    sentences: int
    scores: Scores | None  # None: no sentence is in the bucket
    beyond: bool  # longer than any source in training, if the longest was given

    def to_dict(self) -> dict[str, object]:
        scores = self.scores.to_dict() if self.scores else {}
        return {"words": self.bucket.label, "beyond_training": self.beyond, **scores, "sentences": self.sentences}


def by_length(
    sources: Sequence[str], counts: Counts, *, edges: Sequence[int] = LENGTH_EDGES, longest_trained: int | None = None
) -> tuple[LengthScores, ...]:
    """Score each range of source lengths in words; `edges` are the last lengths of the ranges.

    `longest_trained`, in words, becomes an edge too, so that no range mixes lengths within and beyond training.
    """
    check_same_length(sources=sources, hypotheses=counts.hypotheses)
    lengths = [len(words(source)) for source in sources]
    if longest_trained is not None and longest_trained not in edges:
        edges = sorted((*edges, longest_trained))
    rows = []
    for bucket in buckets(edges, lengths):
        places = [place for place, length in enumerate(lengths) if length in bucket]
        is_beyond = longest_trained is not None and bucket.low > longest_trained
        rows.append(LengthScores(bucket, len(places), counts.scores(places) if places else None, is_beyond))
    return tuple(rows)


@dataclass(frozen=True)
class FrequencyScores:
    """Counts of words, and fractions from 0 to 1, which are None where the denominator is 0."""

    bucket: Bucket  # of the words' frequency
    precision: float | None
    recall: float | None
    f: float | None
    matched: int  # words in both the output and the reference
    written: int
    expected: int

    def to_dict(self) -> dict[str, object]:
        shares = {"frequency": self.bucket.label, "precision": self.precision, "recall": self.recall, "f": self.f}
        return {**shares, "found": self.matched, "written": self.written, "expected": self.expected}


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """Count each word of the texts, such as the targets of training."""
    return Counter(word for text in texts for word in words(text))


def by_frequency(
    hypotheses: Sequence[str],
    references: References,
    *,
    counts: Mapping[str, int] | None = None,
    edges: Sequence[int] = FREQUENCY_EDGES,
) -> tuple[FrequencyScores, ...]:
    """Score the words in each range of `counts`, by default their counts in the references.

    A word matches as often as both the output and the reference contain it, at any position. With several references,
    the reference that shares the most words with the output is used.
    """
    check_same_length(hypotheses=hypotheses, references=references)
    known = alternatives(references)
    counts = word_counts(texts[0] for texts in known) if counts is None else counts
    tallies = Counter[int](), Counter[int](), Counter[int]()  # matched, written and expected words, by their count
    for hypothesis, texts in zip(hypotheses, known, strict=True):
        output = Counter(words(hypothesis))
        reference = max((Counter(words(text)) for text in texts), key=lambda other: (output & other).total())
        for tally, tokens in zip(tallies, (output & reference, output, reference), strict=True):
            for word, times in tokens.items():
                tally[counts.get(word, 0)] += times
    rows = []
    for bucket in buckets(edges, sorted(tallies[1] | tallies[2])):
        matched, written, expected = (
            sum(times for count, times in tally.items() if count in bucket) for tally in tallies
        )
        shares = _share(matched, written), _share(matched, expected), _share(2 * matched, written + expected)
        rows.append(FrequencyScores(bucket, *shares, matched, written, expected))
    return tuple(rows)


@dataclass(frozen=True)
class ConstraintScores:
    include: int  # phrases that were required
    included: int
    exclude: int  # phrases that were forbidden
    excluded: int
    sentences: int  # with a constraint
    satisfied: int  # sentences that meet all their constraints
    share: float | None  # of the constraints that are met, from 0 to 1


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
    share = _share(included + excluded, required + forbidden)
    return ConstraintScores(required, included, forbidden, excluded, len(constrained), satisfied, share)


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
        count, judged = len(places), [verdicts[place] for place in places]
        right, wrong, neither = map(judged.count, get_args(Verdict))
        chance = _share(sum(items[place].chance for place in places), count)
        in_control = None if controls is None else _share(sum(controls[i] == "right" for i in places), count)
        rows.append(DistanceScores(bucket, count, right, wrong, neither, _share(right, count), chance, in_control))
    return tuple(rows)


def count_phrase(phrase: Sequence[str], text: Sequence[str]) -> int:
    """Count how often the words of `phrase` follow each other in `text`; occurrences may overlap."""
    size = len(phrase)
    return sum(list(text[start : start + size]) == list(phrase) for start in range(len(text) - size + 1))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
