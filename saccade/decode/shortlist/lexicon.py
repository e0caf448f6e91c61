"""The probability t(f | e) that a source token e is translated by a target token f: IBM model 1, as in word alignment
(`saccade.align.statistical`), over the tokens of the model instead of words, and without the sparse prior: a list of
many translations of each token should have the improbable ones, too.

A *link* is a target token with one token of its source. Memory grows with the number of links, which is limited.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.align.statistical.bitext import CoOccurrences, Sentences, group_by_lengths
from saccade.align.statistical.em import learn_direction
from saccade.align.statistical.lexicon import LexicalTable
from saccade.text import EOS

ITERATIONS = 5
MOST_LINKS = 1 << 26  # of all pairs together, which need about 1 GB

IdPair = tuple[Sequence[int], Sequence[int]]
Tokens = NDArray[np.int64]
Floats = NDArray[np.float64]


class Lexicon(NamedTuple):
    """An entry for each two tokens that occur together in a pair, sorted by e, then by f."""

    sources: Tokens  # (K,) e
    targets: Tokens  # (K,) f
    probabilities: Floats  # (K,) t(f | e)

    def best(self, count: int, source_size: int) -> tuple[Tokens, Tokens]:
        """For each source token, at most `count` target tokens, the most probable first: those of token e are
        targets[starts[e] : starts[e + 1]]."""
        order = np.lexsort((self.targets, -self.probabilities, self.sources))
        sources, targets = self.sources[order], self.targets[order]
        firsts = np.searchsorted(sources, np.arange(source_size))
        keep = (np.arange(len(sources)) - firsts[sources] < count) & (sources > EOS) & (targets > EOS)
        return np.searchsorted(sources[keep], np.arange(source_size + 1)), targets[keep]


def learn_lexicon(
    pairs: Sequence[IdPair], target_size: int, advance: Callable[[int], None] = lambda pairs: None
) -> Lexicon:
    """t(f | e) after `ITERATIONS`; `advance` is called with ITERATIONS + 1 times the pairs in all. The same pairs give
    the same probabilities."""
    sources, targets = Sentences(), Sentences()
    for source, target in pairs:
        sources.add(source)
        targets.add(target)
    together, blocks = CoOccurrences.collect(group_by_lengths(sources, targets), target_size)
    advance(len(pairs))
    of_source, of_target = together.words()
    start = LexicalTable.uniform(of_source, target_size)
    learnt = learn_direction("ibm1", blocks, start, iterations=ITERATIONS, prior=0, advance=advance)
    return Lexicon(of_source, of_target, learnt.lexicon.words[:-1])


def count_links(pair: IdPair) -> int:
    return len(pair[0]) * len(pair[1])
