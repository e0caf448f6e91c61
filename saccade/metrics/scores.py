"""Corpus scores of translations against their references, with intervals and signatures.

Two scores are comparable only if their signatures are equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.errors import check_same_length
from saccade.metrics.table import References, Tokenisation, alternatives, choose_tokenisation, make_metrics

DEFAULT_METRICS = ("bleu", "chrf", "exact")


class Measured(NamedTuple):
    """A percentage, with its 95 % interval by a bootstrap over sentences if one was requested."""

    value: float
    low: float | None
    high: float | None
    signature: str


@dataclass(frozen=True, kw_only=True)
class Scores:
    measured: Mapping[str, Measured]  # the keys are names of METRICS
    sentences: int

    def __getitem__(self, metric: str) -> float:
        return self.measured[metric].value

    def to_dict(self) -> dict[str, float | int | str]:
        """A flat mapping: bleu, bleu_low and bleu_high where there is an interval, bleu_signature …, sentences."""
        values: dict[str, float | int | str] = {}
        for name, measured in self.measured.items():
            values[name] = measured.value
            if measured.low is not None and measured.high is not None:
                values |= {f"{name}_low": measured.low, f"{name}_high": measured.high}
            values[f"{name}_signature"] = measured.signature
        return {**values, "sentences": self.sentences}


class Counts:
    """The statistics of every sentence, counted once: the scores of any subset are computed from their sums."""

    def __init__(
        self,
        hypotheses: Sequence[str],
        references: References,
        *,
        metrics: Sequence[str] = DEFAULT_METRICS,
        tokenise: Tokenisation = "auto",
    ) -> None:
        check_same_length(hypotheses=hypotheses, references=references)
        self.hypotheses, self.references = list(hypotheses), alternatives(references)
        self.tokenise = choose_tokenisation(self.references, tokenise)  # one for all subsets, so that they compare
        self.metrics = make_metrics(metrics, self.references, self.tokenise)
        self.rows = {name: metric.count(hypotheses, self.references) for name, metric in self.metrics.items()}

    def scores(self, places: Sequence[int] | None = None, *, resamples: int = 0) -> Scores:
        """Score the sentences at these places, or all; `resamples` bootstrap draws give intervals (1000 is usual)."""
        places = list(range(len(self.references)) if places is None else places)
        subset = [self.references[place] for place in places]
        measured = {}
        for name, metric in make_metrics(list(self.rows), subset, self.tokenise).items():
            rows = self.rows[name][places]
            value = float(metric.score_sums(rows.sum(axis=0, keepdims=True))[0])
            low, high = metric.interval(rows, resamples) if resamples > 1 else (None, None)
            measured[name] = Measured(value, low, high, metric.signature(self.metrics[name].num_refs, resamples))
        return Scores(measured=measured, sentences=len(places))

    def sentence_scores(self, metric: str) -> list[float]:
        """Score each sentence by itself."""
        return list(map(float, self.metrics[metric].score_sums(self.rows[metric])))


def score(
    hypotheses: Sequence[str],
    references: References,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenise: Tokenisation = "auto",
    resamples: int = 0,
) -> Scores:
    """Score line by line, by any of METRICS. White space at the ends of a line does not count for exact match."""
    return Counts(hypotheses, references, metrics=metrics, tokenise=tokenise).scores(resamples=resamples)


def score_pairwise(texts: Sequence[str], metric: str) -> NDArray[np.float64]:
    """Score every text (row) against every text (column) by itself; a text scores 100 against itself."""
    if metric == "bleu":
        # Sentences: the orders of n-grams that exist, whatever the length.
        from saccade.metrics.sacrebleu_adapter import Bleu

        return Bleu(tokenize=choose_tokenisation(texts), effective_order=True, force=True).pairwise(texts)
    return make_metrics([metric], texts)[metric].pairwise(texts)
