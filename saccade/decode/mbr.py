"""Minimum Bayes risk: not the most probable translation, but the one that is most like all the others (Kumar 2004).

    ŷ = argmax_y Σ_r w_r · u(y, r)      u: sentence chrF or BLEU, from 0 to 100; r: every candidate, y itself included

A sample weighs as often as it was drawn (Eikema 2020); a hypothesis of a beam by its probability among those there are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from saccade.decode.translation import Translation
from saccade.errors import UserError
from saccade.evaluate.metrics import tokenisation

Utility = Literal["chrf", "bleu"]
Weighing = Literal["count", "probability"]
Matrix = NDArray[np.float64]  # (candidates, references)


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
    expected = np.round(UTILITIES[utility](texts) @ shares, 9)  # what differs by rounding alone is equal
    return replace(best, alternatives=tuple(others)).rescored(expected.tolist())


def _chrf(texts: Sequence[str]) -> Matrix:
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    counted = metric._extract_reference_info(texts)["ref_ngrams"]  # once a text, not once a pair of texts

    def score(one: int, other: int) -> float:
        orders = zip(counted[one], counted[other], strict=True)
        return metric._compute_f_score([n for pair in orders for n in metric._get_match_statistics(*pair)])

    return _between(texts, score)


def _bleu(texts: Sequence[str]) -> Matrix:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=tokenisation(texts), effective_order=True, force=True)
    cut = [metric._preprocess_segment(text) for text in texts]
    counted = [metric._extract_reference_info([text]) for text in cut]

    def score(one: int, other: int) -> float:
        return metric._compute_score_from_stats(metric._compute_segment_statistics(cut[one], counted[other])).score

    return _between(texts, score)


def _between(texts: Sequence[str], score: Callable[[int, int], float]) -> Matrix:
    """A text is wholly like itself, also a blank one, for which metrics have no number."""
    places = range(len(texts))
    return np.array([[100.0 if one == other else score(one, other) for other in places] for one in places])


UTILITIES: Mapping[str, Callable[[Sequence[str]], Matrix]] = {"chrf": _chrf, "bleu": _bleu}
