"""The confidence of a model, calibrated on pairs that it was not trained on.

A model's probabilities are too high where it has memorised its pairs, and too low where label smoothing taught it to
doubt. Two monotone functions with two parameters each correct them (Platt 1999; Guo 2017 with one, the temperature):

    token      σ(a + b·log p/(1 − p))       the probability that the token is right, given those before it
    sentence   σ(c + d·mean log p)          the average chrF, from 0 to 1, of translations with this probability
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

_CERTAIN = -1e-7  # float32 cannot tell a higher log-probability from certainty
_PRIOR = 2.5  # standard deviation of the parameters on standardised data (Gelman 2008)
_BINS = 10


@dataclass(frozen=True, kw_only=True)
class Logistic:
    """σ(offset + slope·x) with a slope of at least 0"""

    slope: float
    offset: float

    def __call__(self, x: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-np.clip(self.offset + self.slope * x, -50, 50))))

    @classmethod
    def fit(cls, x: Array, y: Array) -> "Logistic":
        """The most probable parameters for outcomes y, from 0 to 1. A weak prior keeps them finite where all outcomes
        are equal. Where y falls with x, x is no evidence, and the function is constant."""
        middle, scale = float(x.mean()), float(x.std()) or 1.0
        z, outcome = torch.from_numpy((x - middle) / scale), torch.from_numpy(y.astype(np.float64))
        parameters = torch.zeros(2, dtype=torch.float64, requires_grad=True)  # offset and slope
        optimiser: Optimizer = LBFGS([parameters], max_iter=100, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

        def loss() -> float:
            optimiser.zero_grad()
            with torch.enable_grad():
                prior = parameters.square().sum() / (2 * _PRIOR**2 * len(x))
                value = binary_cross_entropy_with_logits(parameters[0] + parameters[1] * z, outcome) + prior
                torch.autograd.backward(value)
            return float(value.detach())

        optimiser.step(loss)
        offset, slope = parameters.tolist()
        if slope < 0:
            return cls.fit(np.zeros_like(x), y)
        return cls(slope=slope / scale, offset=offset - slope * middle / scale)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The two functions, and the expected calibration error before and after, measured on each half of the sentences
    with the functions fitted on the other half."""

    token: Logistic
    sentence: Logistic
    tokens: int  # used to fit them
    sentences: int
    token_error: tuple[float, float]
    sentence_error: tuple[float, float]

    def of_tokens(self, log_probs: Sequence[float]) -> tuple[float, ...]:
        return tuple(self.token(log_odds(np.array(log_probs, np.float64))).tolist())

    def of_words(self, log_probs: Sequence[float], spans: Sequence[WordRange], count: int) -> tuple[float, ...]:
        """Confidence of `count` words. `spans` gives each token's words; a word is right if all its tokens are."""
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
    capped = np.minimum(log_probs, _CERTAIN)
    return np.asarray(capped - np.log(-np.expm1(capped)))


def calibration_error(predicted: Array, true: Array) -> float:
    """Σ_b n_b/n · |mean predicted − mean true| over ten bins of equal width"""
    bins = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, weights=predicted - true, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(predicted))
