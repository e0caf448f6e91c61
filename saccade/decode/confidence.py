"""How sure a model is, as numbers that can be taken at their word: fitted on pairs that it was not trained on.

A model's own probabilities are too high where it has learnt its pairs by heart, and too low where smoothing taught it
to doubt. Two monotone maps of two numbers each correct that (Platt 1999; Guo 2017 for one number, the temperature):

    token      σ(a + b·log p/(1 − p))       how probably the token is right, given what is before it
    sentence   σ(c + d·mean log p)          the chrF, from 0 to 1, that a translation like this one has on average
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim import LBFGS, Optimizer

from saccade.text import WordRange

Array = NDArray[np.float64]

_SURE = -1e-7  # the log-probability above which 32 bits know no difference from certainty
_PRIOR = 2.5  # standard deviations: beyond this a fit on standardised data needs evidence (Gelman 2008)
_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Logistic:
    """σ(offset + slope·x), which never falls"""

    slope: float
    offset: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-np.clip(self.offset + self.slope * x, -50, 50))))

    @classmethod
    def fit(cls, x: Array, y: Array) -> "Logistic":
        """The most probable for outcomes y, from 0 to 1, under a weak prior that keeps it finite where all are alike.
        Where a larger x means a smaller y, x has nothing to say: then the mean of y, whatever x is."""
        middle, scale = float(x.mean()), float(x.std()) or 1.0
        z, outcome = torch.from_numpy((x - middle) / scale), torch.from_numpy(y.astype(np.float64))
        found = torch.zeros(2, dtype=torch.float64, requires_grad=True)  # offset and slope
        optimiser: Optimizer = LBFGS([found], max_iter=100, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

        def loss() -> float:
            optimiser.zero_grad()
            with torch.enable_grad():
                prior = found.square().sum() / (2 * _PRIOR**2 * len(x))
                value = binary_cross_entropy_with_logits(found[0] + found[1] * z, outcome) + prior
                torch.autograd.backward(value)
            return float(value.detach())

        optimiser.step(loss)
        offset, slope = found.tolist()
        if slope < 0:
            return cls.fit(np.zeros_like(x), y)
        return cls(slope=slope / scale, offset=offset - slope * middle / scale)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The two maps, and how far what is said is from what comes true (expected calibration error), before and after;
    measured on each half of the sentences by what was fitted on the other."""

    token: Logistic
    sentence: Logistic
    tokens: int  # that they were fitted on
    sentences: int
    token_error: tuple[float, float]
    sentence_error: tuple[float, float]

    def of_tokens(self, log_probs: Sequence[float]) -> tuple[float, ...]:
        return tuple(self.token(log_odds(np.array(log_probs, np.float64))).tolist())

    def of_words(self, log_probs: Sequence[float], spans: Sequence[WordRange], count: int) -> tuple[float, ...]:
        """Of `count` words, given the words of each token: a word is right where all its tokens are."""
        confidences = np.ones(count)
        for token, (first, end) in zip(self.of_tokens(log_probs[: len(spans)]), spans, strict=True):
            confidences[first:end] *= token
        return tuple(confidences.tolist())

    def of_sentence(self, log_probs: Sequence[float]) -> float:
        return float(self.sentence(np.array(np.mean(log_probs))))

    def __str__(self) -> str:
        errors = (
            f"{name} {a:.3f} → {b:.3f}"
            for name, (a, b) in (("token", self.token_error), ("sentence", self.sentence_error))
        )
        return f"confidence fitted on {self.sentences:,} sentences; calibration errors: {', '.join(errors)}"


def log_odds(log_probs: Array) -> Array:
    capped = np.minimum(log_probs, _SURE)
    return np.asarray(capped - np.log(-np.expm1(capped)))


def calibration_error(said: Array, true: Array) -> float:
    """Σ_b n_b/n · |mean said − mean true| over ten bins of equal width"""
    bins = np.minimum((said * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, weights=said - true, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(said))
