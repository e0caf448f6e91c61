"""Vogel, Ney, Tillmann (1996): HMM-Based Word Alignment in Statistical Translation; the empty word as in Och and Ney
(2003): A Systematic Comparison of Various Statistical Alignment Models. Neighbouring target words are mostly translated
from neighbouring source words, so a target word chooses its source word by the distance from the previous choice.

    (1) a(i | i', S) = s(i − i') / Σ_i'' s(i'' − i')       from place i' = 1 … S; the first jump, from 0, has its own s
    (2) w_j(i) = (1 − p₀) Σ_i' g_{j−1}(i') a(i | i', S) t(f_j | e_i)                    the word i translates into f_j
        n_j(i) = p₀ g_{j−1}(i) t(f_j | empty)                      the empty word does; the place i is kept in mind
    (3) z_j = Σ_i w_j(i) + n_j(i),  g_j = (w_j + n_j) / z_j,  g_0(0) = 1,  p(f_1 … f_T | e_1 … e_S) = Π_j z_j
    (4) b_{j−1}(i') = ((1 − p₀) Σ_i a(i | i', S) t(f_j | e_i) b_j(i) + p₀ t(f_j | empty) b_j(i')) / z_j,    b_T = 1
    (5) p(i | j) = w_j(i) b_j(i) / z_j                                              the posterior of a link
    (6) c(i', i) = Σ_j g_{j−1}(i') (1 − p₀) a(i | i', S) t(f_j | e_i) b_j(i) / z_j    the expected jumps

Dividing by z_j keeps all numbers near 1, so no logarithms are needed. (2) to (6) are products of matrices, because all
pairs of a block have the same lengths.

Deviations: distances of more than `distances.FARTHEST` words share a weight, and the weights of a jump are fitted so
that the likelihood never falls (the paper uses relative frequencies). Lexical probabilities start from IBM model 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from saccade.align.statistical.distances import FARTHEST, Classes, DistanceWeights
from saccade.align.statistical.ibm import P0, Expectation, Lengths
from saccade.align.statistical.lexicon import Floats


@dataclass(frozen=True)
class Hmm:
    p0: float = P0
    distances: DistanceWeights = field(default_factory=lambda: DistanceWeights.equal(3 * FARTHEST + 2))

    def expect(self, words: Floats, empty: Floats) -> Expectation:
        """`words` (T, B, S) is t(f_j | e_i), `empty` (T, B) is t(f_j | empty)."""
        jumps = (1 - self.p0) * self.distances.probabilities(jump_classes(words.shape[2]))  # (S + 1, S)
        empty = self.p0 * empty
        places, chosen, scales = _forward(jumps, words, empty)
        reached, of_empty = _backward(jumps, words, empty, places, chosen, scales)
        before = places[:-1].reshape(-1, len(jumps))  # (T · B, S + 1)
        moves = jumps * (before.T @ reached.reshape(-1, words.shape[2]))  # equation 6
        return Expectation(chosen, of_empty, float(np.log(scales).sum()), moves)

    def improve(self, moves: Mapping[Lengths, Floats]) -> "Hmm":
        """The model with the weights of its jumps fitted to the counts."""
        counted = ((jump_classes(sources), counts) for (_, sources), counts in moves.items())
        return replace(self, distances=self.distances.improve(counted))


def jump_classes(sources: int) -> Classes:
    """(S + 1, S) the clipped distance of each jump; the first row is the first jump, with classes of its own."""
    places = np.arange(sources)
    first = 2 * FARTHEST + 1 + np.minimum(places, FARTHEST)
    return np.vstack([first, np.clip(places - places[:, None], -FARTHEST, FARTHEST) + FARTHEST])


def _forward(jumps: Floats, words: Floats, empty: Floats) -> tuple[Floats, Floats, Floats]:
    """Equations 2 and 3: g (T + 1, B, S + 1), w / z (T, B, S) and z (T, B)."""
    targets, pairs, sources = words.shape
    places, chosen, scales = np.zeros((targets + 1, pairs, sources + 1)), np.empty_like(words), np.empty_like(empty)
    places[0, :, 0] = 1
    for j in range(targets):
        np.matmul(places[j], jumps, out=chosen[j])
        chosen[j] *= words[j]
        now = places[j + 1]
        np.multiply(places[j], empty[j, :, None], out=now)
        now[:, 1:] += chosen[j]
        scales[j] = now.sum(axis=1)
        now /= scales[j, :, None]
        chosen[j] /= scales[j, :, None]
    return places, chosen, scales


def _backward(
    jumps: Floats, words: Floats, empty: Floats, places: Floats, chosen: Floats, scales: Floats
) -> tuple[Floats, Floats]:
    """Equations 4 and 5: t b / z (T, B, S) and the posterior of the empty word (T, B); `chosen` becomes p(i | j)."""
    reached, of_empty = np.empty_like(words), np.empty_like(empty)
    ahead = np.ones_like(places[0])  # (B, S + 1) b
    for j in reversed(range(len(words))):
        chosen[j] *= ahead[:, 1:]
        np.multiply(words[j], ahead[:, 1:], out=reached[j])
        reached[j] /= scales[j, :, None]
        stayed = ahead * (empty[j] / scales[j])[:, None]
        of_empty[j] = (places[j] * stayed).sum(axis=1)
        ahead = reached[j] @ jumps.T + stayed
    return reached, of_empty
