"""Minimum Bayes risk: not the most probable translation, but the one that is most like all the others (Kumar 2004).

    ŷ = argmax_y Σ_r w_r · u(y, r)      u: sentence chrF or BLEU, from 0 to 100; r: every candidate, y itself included

A sample weighs as often as it was drawn (Eikema 2020); a hypothesis of a beam by its probability among those there are.
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
    """The same candidates, each text once, best first; a score is the expected utility, equal ones stay in order."""
    if utility not in get_args(Utility) or weigh not in get_args(Weighing):
        raise UserError(
            f"minimum Bayes risk: expected a utility of {' or '.join(get_args(Utility))} that weighs by "
            f"{' or '.join(get_args(Weighing))}, got {utility!r} and {weigh!r}"
        )
    every = result.n_best
    texts = list(dict.fromkeys(one.text for one in every))
    likeliest = max(one.log_prob for one in every)
    weights = dict.fromkeys(texts, 0.0)
    for one in every:
        weights[one.text] += 1.0 if weigh == "count" else float(np.exp(one.log_prob - likeliest))
    shares = np.array([*weights.values()]) / sum(weights.values())
    first = {one.text: one for one in reversed(every)}
    best, *others = (first[text] for text in texts)
    expected = np.round(score_pairwise(texts, utility) @ shares, 9)  # what differs by rounding alone is equal
    return replace(best, alternatives=tuple(others)).rescored(expected.tolist())
