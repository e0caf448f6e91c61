"""One call for all that can be said of a system's outputs: scores, breakdowns, behaviour."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saccade.errors import check_same_length
from saccade.evaluate.behaviour import Behaviour, behaviour
from saccade.evaluate.breakdowns import (
    FREQUENCY_EDGES,
    LENGTH_EDGES,
    FrequencyScores,
    LengthScores,
    by_frequency,
    counts_by_length,
)
from saccade.evaluate.phrases import ConstraintScores, Phrases, by_constraint
from saccade.metrics import Counts, References, Scores, Tokenisation

METRICS_SHOWN = ("bleu", "chrf", "ter", "wer", "per", "cer", "exact")
RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    scores: Scores
    behaviour: Behaviour
    frequencies: tuple[FrequencyScores, ...]
    lengths: tuple[LengthScores, ...]  # none where the sources were not given
    constraints: ConstraintScores | None

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.scores.to_dict(),
            "behaviour": self.behaviour.to_dict(),
            "by_frequency": [row.to_dict() for row in self.frequencies],
            "by_length": [row.to_dict() for row in self.lengths],
            "constraints": self.constraints and self.constraints.to_dict(),
        }


def evaluate(
    hypotheses: Sequence[str],
    references: References,
    *,
    sources: Sequence[str] | None = None,
    metrics: Sequence[str] = METRICS_SHOWN,
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
    """Of outputs against one reference each, or several.

    With `sources`, by their length and how much was copied; `counts` of words in training (`word_counts`) for the
    ranges of frequency; phrases that each output must `include` or `exclude`; `unread` source words (`unread_words`).
    """
    check_same_length(hypotheses=hypotheses, references=references, **({} if sources is None else {"sources": sources}))
    counted = Counts(hypotheses, references, metrics=metrics, tokenise=tokenise)
    by_source: tuple[LengthScores, ...] = ()
    if sources is not None:
        by_source = counts_by_length(sources, counted, edges=length_edges, longest_trained=longest_trained)
    constrained = include is not None or exclude is not None
    return Evaluation(
        scores=counted.scores(resamples=resamples),
        behaviour=behaviour(hypotheses, references, sources=sources, unread=unread),
        frequencies=by_frequency(hypotheses, references, counts=counts, edges=frequency_edges),
        lengths=by_source,
        constraints=by_constraint(hypotheses, include, exclude) if constrained else None,
    )
