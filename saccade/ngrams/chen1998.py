"""Chen, Goodman (1998): An Empirical Study of Smoothing Techniques for Language Modeling. n-grams with modified
Kneser–Ney smoothing, interpolated, as KenLM estimates them (Heafield and others, 2013).

    (1) a(w_1 … w_n) = count of w_1 … w_n               for the longest n, and where w_1 begins a sentence
                     = number of v: v w_1 … w_n occurs   for shorter n-grams
    (2) D_k = k − (k + 1) · t_1 t_{k+1} / ((t_1 + 2 t_2) t_k)     t_k: how many n-grams have a = k;  k = 1, 2, 3 or more
    (3) u(w | h) = (a(h w) − D_a) / Σ_x a(h x)                     what is left of a seen n-gram after the discount
    (4) γ(h) = (D_1 N_1(h) + D_2 N_2(h) + D_3 N_3+(h)) / Σ_x a(h x)     what the discounts give to the shorter history
    (5) p(w | h) = u(w | h) + γ(h) p(w | h without its first word),   p(w | ) = u(w) + γ / |V|

N_k(h) is the number of words x with a(h x) = k. V has every word, the end of a sentence and the unknown word, but not
the beginning of a sentence, which is never predicted. Where (2) is not above 0 and at most k, as in small texts, the
discounts of that order are ½, 1 and 1½, as with KenLM's --discount_fallback.

n-grams are rows of sorted tables. The key of w_1 … w_n is the row of w_1 … w_{n−1} times the number of words, plus w_n:
the continuations of a history are neighbours, and all positions of a text are looked up at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

BEGIN, END, UNKNOWN = 0, 1, 2  # ids; words follow
FALLBACK = (0.5, 1.0, 1.5)
_ABSENT = -1

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NgramTable:
    """All n-grams of one length, sorted by their keys."""

    keys: Ids
    left: Floats  # u (3)
    passed: Floats  # γ (4) of each n-gram as a history; 1 where it never is one

    @property
    def is_sound(self) -> bool:
        """Whether a table from elsewhere can be searched: one row per n-gram, in order, and no negative numbers."""
        shapes = {self.keys.shape, self.left.shape, self.passed.shape}
        if shapes != {(len(self.keys),)} or not len(self.keys) or self.keys.dtype != np.int64:
            return False
        ordered = self.keys[0] >= 0 and (np.diff(self.keys) > 0).all()
        return bool(ordered and (self.left >= 0).all() and (self.passed >= 0).all())

    def find(self, keys: Ids) -> Ids:
        """The rows of the keys, or −1."""
        rows = np.searchsorted(self.keys, keys)
        rows[rows == len(self.keys)] = 0
        return np.where((self.keys[rows] == keys) & (keys >= 0), rows, _ABSENT)


@dataclass(frozen=True)
class Ngrams:
    words: int  # in the vocabulary, with the three above
    uniform: float  # γ / |V| of (5)
    tables: tuple[NgramTable, ...]  # of length 1 … order

    @property
    def order(self) -> int:
        return len(self.tables)

    @cached_property
    def size(self) -> int:
        return sum(len(table.keys) for table in self.tables)

    def log_probabilities(self, sentences: Sequence[Ids]) -> list[Floats]:
        """log p of every word of each sentence and of its end"""
        ids, places = join_sentences(sentences)
        probabilities = self.uniform + self.tables[0].left[ids]
        rows = ids  # of the n-grams that end at each place, longer by one word each time
        for length, table in enumerate(self.tables[1:], 2):
            before = np.where(places >= length - 1, np.roll(rows, 1), _ABSENT)
            history = self.tables[length - 2].passed[np.maximum(before, 0)]
            rows = table.find(np.where(before >= 0, before * self.words + ids, _ABSENT))
            seen = np.where(rows >= 0, table.left[np.maximum(rows, 0)], 0.0)
            probabilities = np.where(before >= 0, history, 1.0) * probabilities + seen
        logs = np.log(probabilities[places > 0])
        return np.split(logs, np.cumsum([len(sentence) + 1 for sentence in sentences])[:-1])

    def next_probabilities(self, history: Sequence[int]) -> Floats:
        """p of every word after a history that begins with BEGIN"""
        probabilities = self.uniform + self.tables[0].left
        probabilities[BEGIN] = 0.0
        for length in range(2, self.order + 1):
            row = self._row(history[-(length - 1) :])
            if len(history) < length - 1 or row == _ABSENT:
                break
            table = self.tables[length - 1]
            first, end = np.searchsorted(table.keys, (row * self.words, (row + 1) * self.words))
            probabilities *= self.tables[length - 2].passed[row]
            probabilities[table.keys[first:end] - row * self.words] += table.left[first:end]
        return probabilities

    def _row(self, words: Sequence[int]) -> int:
        row = words[0]
        for length, word in enumerate(words[1:], 2):
            row = int(self.tables[length - 1].find(np.array([row * self.words + word]))[0])
            if row == _ABSENT:
                break
        return row


def estimate(sentences: Sequence[Ids], words: int, order: int) -> Ngrams:
    """Count the n-grams of sentences of ids below `words`, and smooth them. None is longer than the longest sentence,
    with its beginning and its end."""
    ids, places = join_sentences(sentences)
    order = min(order, int(places.max()) + 1)
    rows, keys = [ids], [np.arange(words)]
    for length in range(2, order + 1):
        ends = places >= length - 1
        before = np.roll(rows[-1], 1)
        unique, inverse = np.unique((before * words + ids)[ends], return_inverse=True)
        row = np.full(len(ids), _ABSENT)
        row[ends] = inverse
        rows.append(row)
        keys.append(unique)
    adjusted = [_adjusted_counts(rows, keys, length) for length in range(1, order + 1)]
    tables = list[NgramTable]()
    uniform = 1.0
    for length in range(1, order + 1):
        counts = adjusted[length - 1]
        histories = keys[length - 1] // words if length > 1 else np.zeros(words, np.int64)
        left, passed = _smooth(counts, histories, len(keys[length - 2]) if length > 1 else 1)
        if length == 1:
            uniform = float(passed[0]) / (words - 1)  # without BEGIN
        else:
            tables[-1] = NgramTable(tables[-1].keys, tables[-1].left, passed)
        tables.append(NgramTable(keys[length - 1], left, np.ones(len(left))))
    return Ngrams(words, uniform, tuple(tables))


def join_sentences(sentences: Sequence[Ids]) -> tuple[Ids, Ids]:
    """All sentences in one row, each with its beginning and its end; and each word's place in its sentence."""
    lengths = np.array([len(sentence) + 2 for sentence in sentences], np.int64)
    starts = np.cumsum(lengths) - lengths
    ids = np.empty(int(lengths.sum()), np.int64)
    places = np.arange(len(ids)) - np.repeat(starts, lengths)
    ids[starts], ids[starts + lengths - 1] = BEGIN, END
    inside = (places > 0) & (places < np.repeat(lengths, lengths) - 1)
    ids[inside] = np.concatenate(sentences) if len(sentences) else ids[inside]
    return ids, places


def _adjusted_counts(rows: Sequence[Ids], keys: Sequence[Ids], length: int) -> Ids:
    """Equation 1 for all n-grams of a length."""
    own, number = rows[length - 1], len(keys[length - 1])
    counts = np.bincount(own[own >= 0], minlength=number)
    if length < len(rows):
        longer = rows[length]
        _, first = np.unique(longer, return_index=True)
        first = first[longer[first] >= 0]  # one place where each longer n-gram ends
        continuations = np.bincount(own[first], minlength=number)
        counts = np.where(continuations, continuations, counts)
    if length == 1:
        counts[BEGIN] = 0  # never predicted
    return counts


def _smooth(counts: Ids, histories: Ids, number: int) -> tuple[Floats, Floats]:
    """Equations 3 and 4: u of every n-gram, and γ of the `number` histories."""
    discounts = np.array([0.0, *find_discounts(counts)])
    discounted = discounts[np.minimum(counts, 3)]
    totals = np.bincount(histories, counts, minlength=number)
    given = np.bincount(histories, discounted, minlength=number)
    is_history = totals > 0
    passed = np.where(is_history, given / np.where(is_history, totals, 1), 1.0)
    left = (counts - discounted) / np.maximum(totals[histories], 1)
    return left, passed


def find_discounts(counts: Ids) -> tuple[float, float, float]:
    """Equation 2"""
    t1, t2, t3, t4 = (int((counts == k).sum()) for k in (1, 2, 3, 4))
    if not (t1 and t2 and t3):
        return FALLBACK
    share = t1 / (t1 + 2 * t2)
    discounts = (1 - 2 * share * t2 / t1, 2 - 3 * share * t3 / t2, 3 - 4 * share * t4 / t3)
    usable = all(0 < discount <= k for k, discount in enumerate(discounts, 1))
    return discounts if usable else FALLBACK
