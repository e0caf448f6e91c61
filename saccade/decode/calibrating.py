"""Calibrate the confidence of a model on pairs that it was not trained on."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.decode.confidence import Array, Calibration, Logistic, calibration_error, log_odds
from saccade.decode.options import DEFAULT_SEARCH, Search
from saccade.decode.scoring import BATCH_TOKENS, TextPair, force_targets
from saccade.decode.translator import OnProgress, Translator
from saccade.errors import UserError
from saccade.metrics import Counts

FEWEST = 20  # sentences; fewer are no evidence of how often something is right


def calibrate(
    translator: Translator,
    pairs: Iterable[TextPair],
    search: Search = DEFAULT_SEARCH,
    *,
    batch_tokens: int = BATCH_TOKENS,
    progress: OnProgress | None = None,
) -> Calibration:
    """Fit the confidence of sentences on translations by `search`, and the confidence of tokens on the targets.

    The quality of a sentence is its chrF: it has degrees, so that a few dozen sentences are evidence for every level,
    and it is 1 where the translation is exactly right, which is rare in free text.
    """
    written = [pair for pair in pairs if all(text.strip() for text in pair)]
    if len(written) < FEWEST:
        raise UserError(f"calibration needs at least {FEWEST} pairs with text on both sides, got {len(written)}")
    sides = translator.vocabularies
    ids = [
        (sides.source.encode(source.text), sides.target.encode(target.text))
        for source, target in (sides.mask_pair(*pair) for pair in written)
    ]
    steps = [row.astype(np.float64) for row in force_targets(translator, ids, _guesses, batch_tokens=batch_tokens)]
    results = translator.translate([source for source, _ in written], search, progress=progress)
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
