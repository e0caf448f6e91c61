"""Probabilities of places by their clipped distance from an expected place.

Each distance d has a weight s(d). Distances of more than `FARTHEST` words share the weight of the farthest. In context
r (such as: after source word 3, in a sentence of 7 words), one of the S source words is chosen:

    (1) a(i | r) = s(d(r, i)) / Σ_i' s(d(r, i'))

The denominators contain only the words that a sentence has, so the relative frequencies of the distances are not the
maximum of the likelihood. With the expected counts c(r, i), the following step never lowers it (Hunter 2004), and is
repeated:

    (2) s(d) ← Σ_{r,i: d(r,i)=d} c(r, i) / Σ_{r,i: d(r,i)=d} c(r) / Σ_i' s(d(r, i'))        c(r) = Σ_i c(r, i)
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.align.statistical.lexicon import Floats

FARTHEST = 8
STEPS = 10  # of equation 2
_SMALLEST = 1e-10  # weight, so that no alignment of a new pair is impossible

Classes = NDArray[np.int64]  # (R, S) the number of d(r, i), from 0


@dataclass(frozen=True, eq=False)
class DistanceWeights:
    weights: Floats  # (D,) s

    @classmethod
    def equal(cls, number: int) -> "DistanceWeights":
        return cls(np.full(number, 1 / number))

    def probabilities(self, classes: Classes) -> Floats:
        """(R, S) equation 1."""
        weights = self.weights[classes]
        chosen: Floats = weights / weights.sum(axis=1, keepdims=True)
        return chosen

    def improve(self, counted: Iterable[tuple[Classes, Floats]]) -> "DistanceWeights":
        """Maximise the likelihood of counts (R, S) of contexts with these classes (R, S)."""
        rows = [(self._sum(classes, counts), self._sum(classes)) for classes, counts in counted]
        counts, offered = (np.concatenate(parts) for parts in zip(*rows, strict=True))  # (rows of all, D)
        weights, total, of_row = self.weights, counts.sum(axis=0), counts.sum(axis=1)
        for _ in range(STEPS):
            expected = (of_row / (offered @ weights)) @ offered
            weights = np.divide(total, expected, out=weights.copy(), where=expected > 0)
            weights = np.maximum(weights / weights.sum(), _SMALLEST)
        return DistanceWeights(weights)

    def _sum(self, classes: Classes, counts: Floats | None = None) -> Floats:
        """(R, D) the counts, or the number of words, of each distance."""
        number = len(self.weights)
        flat = classes + number * np.arange(len(classes))[:, None]
        summed = np.bincount(flat.ravel(), None if counts is None else counts.ravel(), number * len(classes))
        return summed.reshape(-1, number).astype(np.float64)
