"""Minimum Bayes risk: choose not the most probable translation, but the one most similar to all others (Kumar 2004).

    ŷ = argmax_y Σ_r w_r · u(y, r)      u: sentence chrF or BLEU, from 0 to 100; r: every candidate, including y

A sample's weight is how often it was drawn (Eikema 2020); a beam hypothesis' weight is its share of the probability.
"""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from saccade.decode.translation import Translation
from saccade.errors import UserError
from saccade.metrics import score_pairwise

Utility = Literal["chrf", "bleu"]
Weighing = Literal["count", "probability"]


def minimise_risk(result: Translation, utility: Utility = "chrf", *, weigh: Weighing = "count") -> Translation:
    """The same candidates, each text once, best first. The score of each is its expected utility."""
    if utility not in get_args(Utility) or weigh not in get_args(Weighing):
        raise UserError(
            f"minimum Bayes risk: expected a utility of {' or '.join(get_args(Utility))} and weights by "
            f"{' or '.join(get_args(Weighing))}, got {utility!r} and {weigh!r}"
        )
    highest = max(candidate.log_prob for candidate in result.n_best)
    first: dict[str, Translation] = {}
    weights: dict[str, float] = {}
    for candidate in result.n_best:
        weight = 1.0 if weigh == "count" else float(np.exp(candidate.log_prob - highest))
        first.setdefault(candidate.text, candidate)
        weights[candidate.text] = weights.get(candidate.text, 0.0) + weight
    shares = np.array([*weights.values()]) / sum(weights.values())
    expected = np.round(score_pairwise(list(first), utility) @ shares, 9)  # differences by rounding are ties
    best, *others = first.values()
    return replace(best, alternatives=tuple(others)).rescore(expected.tolist())
