"""Brown, Della Pietra, Della Pietra, Mercer (1993): The Mathematics of Statistical Machine Translation. Every target
word is translated from one source word, or from the empty word, independently of the other target words.

    (1) p(f_1 … f_T | e_1 … e_S) = Π_j (p₀ t(f_j | empty) + (1 − p₀) Σ_i a(i | j, T, S) t(f_j | e_i))
    (2) p(i | j) = (1 − p₀) a(i | j, T, S) t(f_j | e_i) / (the factor of j in (1))       the posterior of a link
    (3) a(i | j, T, S) = 1 / S                                                           model 1
    (4) a(i | j, T, S) = s(i − ⌊(j + ½) S / T⌋) / Σ_i' s(i' − ⌊(j + ½) S / T⌋)           model 2

Expectation maximisation counts the posteriors (2) under the current parameters, and fits t (`lexicon`) and s
(`distances`) to the counts.

Deviations: the empty word has the fixed probability p₀ in both models (the paper: that of any other word in model 1,
and a learnt one in model 2). The paper's model 2 has one parameter for each (i, j, T, S); here they are tied by the
distance from the diagonal, so that few pairs suffice and lengths that were never seen can be aligned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from saccade.align.statistical.distances import FARTHEST, Classes, DistanceWeights
from saccade.align.statistical.lexicon import Floats

P0 = 0.2  # of the empty word
Lengths = tuple[int, int]  # (T, S)


class Expectation(NamedTuple):
    """What a model expects of the links of a block, given the probabilities of its words."""

    words: Floats  # (T, B, S) the posterior of each link
    empty: Floats  # (T, B) the posterior of the empty word
    log_likelihood: float
    moves: Floats  # (R, S) the expected counts of each place in each context, over the block


@dataclass(frozen=True)
class Ibm1:
    p0: float = P0

    def expect(self, words: Floats, empty: Floats) -> Expectation:
        """`words` (T, B, S) is t(f_j | e_i), `empty` (T, B) is t(f_j | empty)."""
        targets, _, sources = words.shape
        joint = words * ((1 - self.p0) * self.positions(targets, sources))[:, None]
        of_empty = self.p0 * empty
        likelihoods = joint.sum(axis=2) + of_empty  # equation 1
        joint /= likelihoods[:, :, None]  # equation 2
        return Expectation(joint, of_empty / likelihoods, float(np.log(likelihoods).sum()), joint.sum(axis=1))

    def positions(self, targets: int, sources: int) -> Floats:
        """(T, S) equation 3."""
        return np.full((targets, sources), 1 / sources)

    def improve(self, moves: Mapping[Lengths, Floats]) -> "Ibm1":
        """The model with its positions fitted to the counts; model 1 has nothing to fit."""
        return self


@dataclass(frozen=True)
class Ibm2(Ibm1):
    distances: DistanceWeights = field(default_factory=lambda: DistanceWeights.equal(2 * FARTHEST + 1))

    def positions(self, targets: int, sources: int) -> Floats:
        """(T, S) equation 4."""
        return self.distances.probabilities(diagonal_classes(targets, sources))

    def improve(self, moves: Mapping[Lengths, Floats]) -> "Ibm2":
        counted = ((diagonal_classes(*lengths), counts) for lengths, counts in moves.items())
        return replace(self, distances=self.distances.improve(counted))


def diagonal_classes(targets: int, sources: int) -> Classes:
    """(T, S) the clipped distance of each source word from the place on the diagonal."""
    diagonal = (2 * np.arange(targets) + 1) * sources // (2 * targets)
    distance: Classes = np.arange(sources) - diagonal[:, None]
    return np.clip(distance, -FARTHEST, FARTHEST) + FARTHEST
