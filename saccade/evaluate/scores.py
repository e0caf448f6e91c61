"""Corpus scores of translations against their references, with intervals and with how they were counted.

Two scores compare only if their signatures are equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.evaluate.metrics import Tokenisation, make_metrics, tokenisation
from saccade.evaluate.references import References, alternatives, same_count, streams

USUAL = ("bleu", "chrf", "exact")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A percentage, with the 95 % interval that a bootstrap over sentences gives, where one was asked for."""

    value: float
    low: float | None
    high: float | None
    signature: str


@dataclass(frozen=True, kw_only=True)
class Scores:
    measured: Mapping[str, Measured]  # by a name of METRICS
    sentences: int

    def __getitem__(self, metric: str) -> float:
        return self.measured[metric].value

    @property
    def bleu(self) -> float:
        return self["bleu"]

    @property
    def chrf(self) -> float:
        return self["chrf"]

    @property
    def exact(self) -> float:
        return self["exact"]

    def to_dict(self) -> dict[str, float | int | str]:
        """Flat: bleu, bleu_low and bleu_high where there is an interval, bleu_signature …, sentences"""
        found: dict[str, float | int | str] = {}
        for name, one in self.measured.items():
            found[name] = one.value
            if one.low is not None and one.high is not None:
                found |= {f"{name}_low": one.low, f"{name}_high": one.high}
            found[f"{name}_signature"] = one.signature
        return {**found, "sentences": self.sentences}


class Counts:
    """What metrics count in each sentence, once: the scores of any part of the sentences are made of its sums."""

    def __init__(
        self,
        hypotheses: Sequence[str],
        references: References,
        *,
        metrics: Sequence[str] = USUAL,
        tokenise: Tokenisation = "auto",
    ) -> None:
        same_count(hypotheses=hypotheses, references=references)
        self.references = alternatives(references)
        self.tokenise = tokenisation(self.references, tokenise)  # one for all parts, or they would not compare
        self.rows: dict[str, NDArray[np.float64]] = {}  # (sentences, what is counted)
        for name, metric in make_metrics(metrics, self.references, self.tokenise).items():
            counted = metric._extract_corpus_statistics(list(hypotheses), streams(self.references))
            self.rows[name] = np.array(counted, dtype=np.float64)
            self._references_each = metric.num_refs

    def scores(self, inside: Sequence[int] | None = None, *, resamples: int = 0) -> Scores:
        """Of the sentences at these places, or of all; `resamples` of them give intervals, 1000 good ones."""
        from sacrebleu.significance import _bootstrap_resample

        places = list(range(len(self.references)) if inside is None else inside)
        measured = {}
        for name, metric in make_metrics(list(self.rows), [self.references[i] for i in places], self.tokenise).items():
            rows = self.rows[name][places]
            found = metric._compute_score_from_stats(rows.sum(axis=0).tolist())
            metric.num_refs = self._references_each  # for the signature
            low = high = None
            if resamples > 1:
                metric.n_bootstrap = resamples
                metric.seed, draws = _bootstrap_resample(rows.tolist(), metric, resamples)
                for draw in draws:
                    draw.score = float(draw.score)  # a zero is a float, any other NumPy's: their mean cannot be taken
                found.estimate_ci(draws)
                low, high = float(found._mean - found._ci), float(found._mean + found._ci)
            measured[name] = Measured(
                value=float(found.score), low=low, high=high, signature=str(metric.get_signature())
            )
        return Scores(measured=measured, sentences=len(places))


def score(
    hypotheses: Sequence[str],
    references: References,
    *,
    metrics: Sequence[str] = USUAL,
    tokenise: Tokenisation = "auto",
    resamples: int = 0,
) -> Scores:
    """Score line by line, by any of METRICS. An exact match may differ in white space at the ends."""
    return Counts(hypotheses, references, metrics=metrics, tokenise=tokenise).scores(resamples=resamples)
