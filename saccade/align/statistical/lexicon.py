"""The lexical table of a direction: t(f | e), the probability that a source word e, or the empty word, is translated by
a target word f. It has an entry for each two words that occur together in a pair, and none for others.

With the expected counts c(f, e) of an iteration, and α the concentration of a Dirichlet prior over the translations of
a word, the next iteration uses (ψ is the digamma function)

    (1) t(f | e) = exp(ψ(c(f, e) + α)) / exp(ψ(Σ_f' c(f', e) + α))

This is variational Bayes (Riley and Gildea 2012), as in fast_align. Without a prior (α = 0) it is maximum likelihood:

    (2) t(f | e) = c(f, e) / Σ_f' c(f', e)

Maximum likelihood lets a rare word explain all words of its few sentences. A small α makes small counts count for
less than their size: on 30,000 pairs of Europarl, it lowers the AER of the HMM by a third.
"""

import numpy as np
from numpy.typing import NDArray

from saccade.align.statistical.bitext import CHUNK_LINKS, Entries, Ids, LinkBlock

Floats = NDArray[np.float64]

PRIOR = 0.01  # α
UNSEEN = 1e-7  # t of words that never occurred together, in new pairs


class LexicalTable:
    def __init__(self, given: Ids, words: Floats, empty: Floats) -> None:
        self.given = given  # (K,) the source word e of each entry
        self.words = words  # (K + 1,) t(f | e) of each entry, and UNSEEN
        self.empty = empty  # (V + 1,) t(f | the empty word) of each target word, and UNSEEN

    @classmethod
    def uniform(cls, given: Ids, vocabulary: int) -> "LexicalTable":
        return cls(given, np.full(len(given) + 1, 1 / vocabulary), np.full(vocabulary + 1, 1 / vocabulary))

    def look_up(self, block: LinkBlock) -> tuple[Floats, Floats]:
        """t of each link (T, B, S), and of each target word with the empty word (T, B)."""
        return self.words[block.entries], self.empty[block.target.T]


class LexicalCounts:
    """The expected counts c(f, e) of one iteration."""

    def __init__(self, table: LexicalTable) -> None:
        self._given = table.given
        self._words, self._empty = np.zeros(len(table.words)), np.zeros(len(table.empty))
        self._pending: list[tuple[Entries, Floats]] = []  # counted together, since a count passes over all entries

    def add(self, block: LinkBlock, words: Floats, empty: Floats) -> None:
        """Count the posterior probabilities of each link (T, B, S) and of the empty word (T, B)."""
        self._empty += np.bincount(block.target.T.ravel(), empty.ravel(), len(self._empty))
        self._pending.append((block.entries.ravel(), words.ravel()))
        if sum(len(entries) for entries, _ in self._pending) >= CHUNK_LINKS:
            self._count()

    def to_table(self, prior: float = PRIOR) -> LexicalTable:
        """Equation 1, or equation 2 where the prior is 0."""
        self._count()
        words, empty = self._words[:-1] + prior, self._empty[:-1] + prior
        totals = np.bincount(self._given, words).astype(np.float64)
        total = empty.sum(keepdims=True)
        if prior:
            words, totals, empty, total = map(exp_digamma, (words, totals, empty, total))
        words, empty = _divide(words, totals[self._given]), _divide(empty, total)
        return LexicalTable(self._given, np.append(words, UNSEEN), np.append(empty, UNSEEN))

    def _count(self) -> None:
        if self._pending:
            entries, words = (np.concatenate(parts) for parts in zip(*self._pending, strict=True))
            self._words += np.bincount(entries, words, len(self._words))
        self._pending.clear()


def _divide(counts: Floats, totals: Floats) -> Floats:
    """The quotient; 0 where nothing was counted."""
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)


def exp_digamma(x: Floats) -> Floats:
    """exp(ψ(x)), by ψ(x) = ψ(x + 6) − 1/x − … − 1/(x + 5) and the asymptotic series of ψ; 0 where x is 0."""
    x = np.maximum(x, 1e-300)
    large = x + 6
    squared = 1 / large**2
    series = 0.5 / large + squared * (1 / 12 - squared * (1 / 120 - squared / 252))
    steps = sum(1 / (x + step) for step in range(6))
    grown: Floats = large * np.exp(-series - steps)
    return grown
