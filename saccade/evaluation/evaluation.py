"""One call for everything that can be measured on a system's outputs: scores, breakdowns, behaviour."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from saccade.errors import check_same_length
from saccade.evaluation.behaviour import Behaviour, measure_behaviour
from saccade.evaluation.breakdowns import (
    FREQUENCY_EDGES,
    LENGTH_EDGES,
    FrequencyScores,
    LengthScores,
    by_frequency,
    by_length,
)
from saccade.evaluation.phrases import ConstraintScores, Phrases, by_constraint
from saccade.metrics import Counts, References, Scores, Tokenisation
from saccade.text.words import words

SENTENCE_METRICS = ("bleu", "chrf", "ter", "wer", "per", "cer", "exact")
WORD_METRICS = ("word_error", "phone_error", "cer", "exact")
SINGLE_WORDS = 0.95  # data is of single words if this share of the sources is
RESAMPLES = 1000


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
            "constraints": self.constraints and self.constraints.to_dict(),
        }


def evaluate(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    tokenise: Tokenisation = "auto",
    length_edges: Sequence[int] = LENGTH_EDGES,
    longest_trained: int | None = None,
    counts: Mapping[str, int] | None = None,
    frequency_edges: Sequence[int] = FREQUENCY_EDGES,
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
        frequencies=by_frequency(hypotheses, references, counts=counts, edges=frequency_edges),
        lengths=()
        if sources is None
        else by_length(sources, counted, edges=length_edges, longest_trained=longest_trained),
        constraints=by_constraint(hypotheses, include, exclude) if constrained else None,
    )


def choose_metrics(sources: Sequence[str] | None) -> tuple[str, ...]:
    """Choose word and phone error rates for data of single words, such as pronunciations; BLEU and others otherwise."""
    if not sources:
        return SENTENCE_METRICS
    single = sum(len(words(source)) == 1 for source in sources)
    return WORD_METRICS if single >= SINGLE_WORDS * len(sources) else SENTENCE_METRICS
