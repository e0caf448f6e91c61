"""The confidence of a model, calibrated on pairs that it was not trained on.

A model's probabilities are too high where it has memorised its pairs, and too low where label smoothing taught it to
doubt. Two monotone functions with two parameters each correct them (Platt 1999; Guo 2017 with one, the temperature):

    token      σ(a + b·log p/(1 − p))       the probability that the token is right, given those before it
    sentence   σ(c + d·mean log p)          the average chrF, from 0 to 1, of translations with this probability
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim import LBFGS, Optimizer

from saccade import data
from saccade.decode.options import DEFAULT_SEARCH, Search
from saccade.decode.parts import OnProgress
from saccade.decode.scoring import BATCH_TOKENS, TextPair, force_targets
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.metrics import Counts
from saccade.text import WordRange
from saccade.uncompiled import uncompiled

Array = NDArray[np.float64]

FEWEST = 20  # sentences; fewer are no evidence of how often something is right
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
        options: dict[str, Any] = {"max_iter": 100, "tolerance_grad": 1e-9, "line_search_fn": "strong_wolfe"}
        optimiser: Optimizer = uncompiled(LBFGS)([parameters], **options)

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
        token, sentence = (f"{before:.3f} → {after:.3f}" for before, after in (self.token_error, self.sentence_error))
        fitted = f"confidence fitted on {self.sentences:,} sentences"
        return f"{fitted}; calibration errors: token {token}, sentence {sentence}"


def log_odds(log_probs: Array) -> Array:
    capped = np.minimum(log_probs, _CERTAIN)
    return np.asarray(capped - np.log(-np.expm1(capped)))


def calibration_error(predicted: Array, true: Array) -> float:
    """Σ_b n_b/n · |mean predicted − mean true| over ten bins of equal width"""
    bins = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, weights=predicted - true, minlength=_BINS)
    return float(np.abs(gaps).sum() / len(predicted))


def calibrate(
    translator: Translator,
    pairs: Iterable[TextPair],
    search: Search = DEFAULT_SEARCH,
    *,
    batch_tokens: int | None = None,  # None: as many as suit the device
    progress: OnProgress | None = None,
) -> Calibration:
    """Fit the confidence of sentences on translations by `search`, and the confidence of tokens on the targets.

    The quality of a sentence is its chrF: it has degrees, so that a few dozen sentences are evidence for every level,
    and it is 1 where the translation is exactly right, which is rare in free text.
    """
    written = [pair for pair in pairs if all(text.strip() for text in pair)]
    if len(written) < FEWEST:
        raise UserError(f"calibration needs at least {FEWEST} pairs with text on both sides, got {len(written)}")
    ids = [translator.vocabularies.encode(data.TextPair(*pair)) for pair in written]
    rows = force_targets(translator, ids, _guesses, batch_tokens=batch_tokens or BATCH_TOKENS)
    steps = [row.astype(np.float64) for row in rows]
    sources = [source for source, _ in written]
    results = translator.translate(sources, search, batch_tokens=batch_tokens, progress=progress)
    counts = Counts([result.text for result in results], [target for _, target in written], metrics=["chrf"])
    quality = np.array(counts.sentence_scores("chrf")) / 100
    means = np.array([np.mean(result.token_log_probs) for result in results])
    sentence = np.repeat(np.arange(len(steps)), [len(row) for row in steps])
    guessed, right = np.concatenate(steps).T
    return Calibration(
        token=Logistic.fit(log_odds(guessed), right),
        sentence=Logistic.fit(means, quality),
        tokens=len(right),
        sentences=len(written),
        token_error=_errors(log_odds(guessed), np.exp(guessed), right, sentence % 2 == 0),
        sentence_error=_errors(means, np.exp(means), quality, np.arange(len(written)) % 2 == 0),
    )


def _errors(x: Array, raw: Array, true: Array, half: NDArray[np.bool_]) -> tuple[float, float]:
    """The calibration error of the model's own probability, and after fitting on the other half."""
    fitted = np.empty_like(true)
    for here in (half, ~half):
        fitted[here] = Logistic.fit(x[~here], true[~here])(x[here])
    return calibration_error(raw, true), calibration_error(fitted, true)


def _guesses(logits: Tensor, targets: Tensor) -> Tensor:
    """(B, T, 2): the log-probability of the most probable token, and whether it is the right one"""
    best, token = torch.log_softmax(logits, -1).max(-1)
    return torch.stack([best, token.eq(targets).float()], -1)
