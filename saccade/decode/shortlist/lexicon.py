"""IBM model 1 (Brown and others, 1993): the probability t(f | e) that a source token e is translated by a target token
f, from pairs of sentences alone.

Every token of a target comes from one token of its source, or from none (the empty word), each equally likely before
anything is known. Expectation maximisation improves t from iteration to iteration:

    c(f, e) = Σ over all links of f with e:  t(f | e) / Σ_e' t(f | e')     expected counts
    t(f | e) = c(f, e) / Σ_f' c(f', e)

A *link* is a target token with one token of its source. Memory grows with the number of links, which is limited.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.text import EOS, PAD

ITERATIONS = 5
MOST_LINKS = 1 << 26  # of all pairs together: 256 MB, and as much again while they are counted
_BLOCK = 1 << 21  # links that are processed at once
_EMPTY = PAD  # the source token that explains a target token without a translation; no source contains it

IdPair = tuple[Sequence[int], Sequence[int]]
Tokens = NDArray[np.int64]
Floats = NDArray[np.float64]


class Lexicon(NamedTuple):
    """The entries t(f | e) above 0, sorted by e, then by f."""

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


class _Links(NamedTuple):
    """All links of a corpus: the links of one target token after those of another."""

    keys: Tokens  # (K,) e · V + f of every entry, sorted
    entries: list[NDArray[np.int32]]  # of each block: the place in `keys` of every link
    sizes: list[NDArray[np.int32]]  # of each block: the number of links of every target token


def learn_lexicon(
    pairs: Sequence[IdPair], target_size: int, advance: Callable[[int], None] = lambda pairs: None
) -> Lexicon:
    """t(f | e) after `ITERATIONS`; `advance` is called ITERATIONS + 1 times for every pair in all. The same pairs give
    the same probabilities."""
    links = _find_links(pairs, target_size)
    advance(len(pairs))
    sources, targets = np.divmod(links.keys, target_size)
    probabilities = np.ones(len(links.keys))
    for _ in range(ITERATIONS):
        counts = np.zeros(len(links.keys))
        for entries, sizes in zip(links.entries, links.sizes, strict=True):
            likely = probabilities[entries]
            sums = np.add.reduceat(likely, np.cumsum(sizes) - sizes)
            counts += np.bincount(entries, likely / np.repeat(sums, sizes), len(counts))
        probabilities = counts / np.bincount(sources, counts)[sources]
        advance(len(pairs))
    return Lexicon(sources, targets, probabilities)


def count_links(pair: IdPair) -> int:
    return (len(pair[0]) + 1) * len(pair[1])


def _find_links(pairs: Sequence[IdPair], target_size: int) -> _Links:
    known = np.empty(0, np.int64)
    pending: list[Tokens] = []  # merged when they are as many as are known, so that the work stays linear
    for block in _blocks(pairs):
        pending.append(np.unique(_link_keys(block, target_size)[0]))
        if sum(map(len, pending)) > max(len(known), _BLOCK):
            known, pending = np.unique(np.concatenate([known, *pending])), []
    known = np.unique(np.concatenate([known, *pending]))
    links = _Links(known, [], [])
    for block in _blocks(pairs):
        keys, sizes = _link_keys(block, target_size)
        distinct, inverse = np.unique(keys, return_inverse=True)
        links.entries.append(np.searchsorted(known, distinct).astype(np.int32)[inverse])
        links.sizes.append(sizes)
    return links


def _link_keys(pairs: Sequence[IdPair], target_size: int) -> tuple[Tokens, NDArray[np.int32]]:
    """e · V + f of every link, and the number of links of every target token."""
    keys = [np.add.outer(target, np.array([_EMPTY, *source], np.int64) * target_size) for source, target in pairs]
    sizes = [np.full(len(target), len(source) + 1, np.int32) for source, target in pairs]
    return np.concatenate([part.ravel() for part in keys]), np.concatenate(sizes)


def _blocks(pairs: Sequence[IdPair]) -> Iterator[Sequence[IdPair]]:
    """Slices of the pairs, each of about `_BLOCK` links."""
    ends = np.cumsum([count_links(pair) for pair in pairs])
    if not len(ends):
        return
    cuts = np.searchsorted(ends, np.arange(_BLOCK, int(ends[-1]), _BLOCK))
    for first, last in pairwise(np.unique([0, *cuts, len(pairs)]).tolist()):
        yield pairs[first:last]
