"""Pairs of sentences as word ids, in blocks of pairs with equal lengths, so that nothing is padded.

A *link* is a target word with a source word of the same pair. Axes: B pairs, T target words, S source words.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Entries = NDArray[np.int32]

WordPair = tuple[Sequence[str], Sequence[str]]

BLOCK_LINKS = 1 << 20  # at most, in a block of several pairs
CHUNK_LINKS = 1 << 22  # links that are sorted, or counted, at once


class WordIds:
    """Numbers for the words of one language, whatever their case. All unknown words have the number after the last."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, words: Sequence[str]) -> list[int]:
        return [self._ids.setdefault(word.casefold(), len(self._ids)) for word in words]

    def find(self, words: Sequence[str]) -> list[int]:
        return [self._ids.get(word.casefold(), len(self._ids)) for word in words]


class Sentences:
    """The word ids of one side of a corpus, in one array."""

    def __init__(self) -> None:
        self._ids, self._ends = array("q"), array("q", [0])

    def add(self, ids: Sequence[int]) -> None:
        self._ids.extend(ids)
        self._ends.append(len(self._ids))

    @property
    def lengths(self) -> Ids:
        ends = np.array(self._ends, np.int64)
        return ends[1:] - ends[:-1]

    def rows(self, numbers: Ids, length: int) -> Ids:
        """(B, length) the ids of these sentences, which have this length."""
        starts = np.frombuffer(self._ends, np.int64)[numbers]
        rows: Ids = np.frombuffer(self._ids, np.int64)[starts[:, None] + np.arange(length)]
        return rows


class EqualLengths(NamedTuple):
    """Pairs with S source words and T target words each."""

    numbers: Ids  # (B,) their places in the corpus, from 0
    source: Ids  # (B, S)
    target: Ids  # (B, T)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of the links: (T, B, S)."""
        return self.target.shape[1], len(self.numbers), self.source.shape[1]

    @property
    def links(self) -> int:
        targets, pairs, sources = self.shape
        return targets * pairs * sources

    def keys(self, width: int) -> Ids:
        """(T, B, S) e · width + f of each link."""
        return self.source * width + self.target.T[:, :, None]


def group_by_lengths(source: Sentences, target: Sentences) -> Iterator[EqualLengths]:
    """Group pairs by the lengths of both sides. A pair with a blank side is left out."""
    lengths = np.stack([source.lengths, target.lengths], axis=1)  # (pairs, 2)
    numbers = np.flatnonzero(lengths.all(axis=1))
    order = numbers[np.lexsort((lengths[numbers, 1], lengths[numbers, 0]))]
    changes = np.flatnonzero(np.diff(lengths[order], axis=0).any(axis=1)) + 1
    for group in np.split(order, changes) if len(order) else ():
        s, t = lengths[group[0]].tolist()
        size = max(1, BLOCK_LINKS // (s * t))
        for start in range(0, len(group), size):
            part = group[start : start + size]
            yield EqualLengths(part, source.rows(part, s), target.rows(part, t))


@dataclass(frozen=True, eq=False)
class LinkBlock:
    """Pairs with equal lengths, and the entries of the lexical tables that their links look up."""

    numbers: Ids  # (B,)
    source: Ids  # (B, S)
    target: Ids  # (B, T)
    entries: Entries  # (T, B, S)

    def swapped(self) -> "LinkBlock":
        """The same block for the reverse direction."""
        return LinkBlock(self.numbers, self.target, self.source, self.entries.transpose(2, 1, 0))


class CoOccurrences:
    """The pairs of words that occur together in a pair of sentences: sorted keys e · width + f, with one entry each."""

    def __init__(self, keys: Ids, width: int) -> None:
        self.keys, self.width = keys, width

    @classmethod
    def collect(cls, groups: Iterable[EqualLengths], width: int) -> "tuple[CoOccurrences, list[LinkBlock]]":
        """Find all that occur together in a corpus. Every link is sorted once, with the others of its chunk."""
        chunks = []
        for chunk in _chunks(groups):
            keys, places = _distinct(np.concatenate([group.keys(width).ravel() for group in chunk]))
            chunks.append((chunk, keys, places))
        known = cls(_merge([keys for _, keys, _ in chunks]), width)
        blocks = []
        chunks.reverse()
        while chunks:  # they are as large as the blocks: each chunk is freed as soon as its blocks exist
            chunk, keys, places = chunks.pop()
            entries = known._find(keys)[places]
            ends = np.cumsum([group.links for group in chunk])
            for group, of_group in zip(chunk, np.split(entries, ends[:-1]), strict=True):
                blocks.append(LinkBlock(*group, of_group.reshape(group.shape)))
        return known, blocks

    def block(self, group: EqualLengths) -> LinkBlock:
        """Look up new pairs. Words that never occurred together have the entry after the last."""
        keys, places = _distinct(group.keys(self.width).ravel())
        return LinkBlock(*group, self._find(keys)[places].reshape(group.shape))

    def words(self) -> tuple[Ids, Ids]:
        """(K,) the source word e and the target word f of each entry."""
        source, target = np.divmod(self.keys, self.width)
        return source, target

    def _find(self, keys: Ids) -> Entries:
        places = np.searchsorted(self.keys, keys)
        known = places < len(self.keys)
        known[known] = self.keys[places[known]] == keys[known]
        return np.where(known, places, len(self.keys)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Bitext:
    """A corpus to learn from."""

    source: WordIds
    target: WordIds
    together: CoOccurrences
    blocks: list[LinkBlock]
    pairs: int

    @classmethod
    def from_pairs(cls, pairs: Iterable[WordPair], longest: int | None = None) -> "Bitext":
        """Leave out pairs with a blank side, and those with more than `longest` words on a side."""
        source, target, sources, targets = WordIds(), WordIds(), Sentences(), Sentences()
        for source_words, target_words in pairs:
            lengths = len(source_words), len(target_words)
            if min(lengths) > 0 and (longest is None or max(lengths) <= longest):
                sources.add(source.add(source_words))
                targets.add(target.add(target_words))
        width = len(target) + 1  # for the id of unknown words
        together, blocks = CoOccurrences.collect(group_by_lengths(sources, targets), width)
        return cls(source, target, together, blocks, len(sources.lengths))


def _chunks(groups: Iterable[EqualLengths]) -> Iterator[list[EqualLengths]]:
    chunk: list[EqualLengths] = []
    for group in groups:
        chunk.append(group)
        if sum(group.links for group in chunk) >= CHUNK_LINKS:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _distinct(keys: Ids) -> tuple[Ids, Entries]:
    """The distinct keys, sorted, and the place of each key among them; `np.unique` takes several times as long."""
    order = np.argsort(keys)
    ordered = keys[order]
    is_first = _is_first(ordered)
    places = np.empty(len(keys), np.int32)
    places[order] = np.cumsum(is_first, dtype=np.int32) - 1
    return ordered[is_first], places


def _merge(parts: list[Ids]) -> Ids:
    """The distinct keys of sorted parts, sorted."""
    while len(parts) > 1:
        twos = (np.concatenate(parts[start : start + 2]) for start in range(0, len(parts), 2))
        sorted_twos = (np.sort(two, kind="stable") for two in twos)  # which merges two runs in linear time
        parts = [ordered[_is_first(ordered)] for ordered in sorted_twos]
    return parts[0] if parts else np.empty(0, np.int64)


def _is_first(ordered: Ids) -> NDArray[np.bool_]:
    """Whether each key differs from the one before it."""
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return is_first
