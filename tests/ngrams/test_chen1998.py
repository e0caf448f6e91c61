"""Modified Kneser–Ney, beside its equations written out with dictionaries, and a bigram model by hand."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saccade.ngrams.chen1998 import BEGIN, END, FALLBACK, UNKNOWN, Ngrams, estimate, find_discounts

Sentence = list[int]
SENTENCES = st.lists(st.lists(st.integers(3, 7), min_size=1, max_size=6), min_size=1, max_size=12)
WORDS = 8


def fitted(sentences: Sequence[Sentence], order: int, words: int = WORDS) -> Ngrams:
    return estimate([np.array(sentence, np.int64) for sentence in sentences], words, order)


class Plain:
    """The equations of the docstring, one n-gram at a time."""

    def __init__(self, sentences: Sequence[Sentence], order: int) -> None:
        self.order, texts = order, [[BEGIN, *sentence, END] for sentence in sentences]
        raw = [
            Counter(tuple(text[i : i + n]) for text in texts for i in range(len(text) - n + 1))
            for n in range(1, order + 1)
        ]
        self.adjusted: list[Counter[tuple[int, ...]]] = []
        for n in range(1, order + 1):
            counts = Counter(raw[n - 1])
            if n < order:
                for gram in counts:
                    counts[gram] = len({longer[0] for longer in raw[n] if longer[1:] == gram}) or counts[gram]
            if n == 1:
                del counts[(BEGIN,)]
            self.adjusted.append(counts)
        self.discounts = [(0.0, *find_discounts(np.array(list(counts.values())))) for counts in self.adjusted]

    def probability(self, word: int, history: Sequence[int]) -> float:
        history = tuple(history)[max(0, len(history) - self.order + 1) :]
        counts, discounts = self.adjusted[len(history)], self.discounts[len(history)]
        shorter = self.probability(word, history[1:]) if history else 1 / (WORDS - 1)
        total = sum(count for gram, count in counts.items() if gram[:-1] == history)
        if not total:
            return shorter
        following = [count for gram, count in counts.items() if gram[:-1] == history]
        passed = sum(discounts[min(count, 3)] for count in following) / total
        own = counts[(*history, word)]
        return (own - discounts[min(own, 3)]) / total + passed * shorter


@settings(max_examples=40, deadline=None)
@given(SENTENCES, SENTENCES, st.integers(1, 4))
@example([[3]], [[3, 4, 5]], 4)  # no 4-gram in the text
def test_probabilities_are_those_of_the_equations(
    sentences: list[Sentence], others: list[Sentence], order: int
) -> None:
    ngrams, plain = fitted(sentences, order), Plain(sentences, order)
    found = ngrams.log_probabilities([np.array(sentence, np.int64) for sentence in others])
    for sentence, logs in zip(others, found, strict=True):
        text = [BEGIN, *sentence, END]
        expected = [math.log(plain.probability(text[i], text[:i])) for i in range(1, len(text))]
        assert logs.tolist() == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(SENTENCES, st.lists(st.integers(2, 7), max_size=5), st.integers(1, 4))
@example([[3]], [3, 4, 5], 4)
def test_what_comes_next_adds_up_to_one(sentences: list[Sentence], history: Sentence, order: int) -> None:
    ngrams = fitted(sentences, order)
    following = ngrams.next_probabilities([BEGIN, *history])
    assert following.sum() == pytest.approx(1) and following[BEGIN] == 0 and (following[1:] > 0).all()
    for word in (UNKNOWN, 3, 7):
        (logs,) = ngrams.log_probabilities([np.array([*history, word], np.int64)])
        assert logs[-2] == pytest.approx(math.log(following[word]))


def test_a_score_does_not_depend_on_the_other_sentences() -> None:
    sentences = [[3, 4, 5], [4, 4], [7], [3, 4, 6, 5, 3]]
    ngrams = fitted(sentences, 3)
    together = ngrams.log_probabilities([np.array(sentence, np.int64) for sentence in sentences])
    for sentence, logs in zip(sentences, together, strict=True):
        (alone,) = ngrams.log_probabilities([np.array(sentence, np.int64)])
        assert np.array_equal(alone, logs)


def test_bigrams_by_hand() -> None:
    """Of `a b`, `a c` and `a b`"""
    a, b, c = 3, 4, 5
    ngrams = fitted([[a, b], [a, c], [a, b]], 2, words=6)
    # One word stands before a (the beginning), before b and before c, and two before the end: Σ a = 5. No word has 3,
    # so the discounts are ½ and 1: γ = (3 · ½ + 1) / 5 = ½, for a, b, c, the end and the unknown word.
    assert find_discounts(np.array([1, 1, 1, 2])) == FALLBACK
    uniform = 0.5 / 5
    of_b, of_end = 0.5 / 5 + uniform, 1 / 5 + uniform  # p(a) = p(b)
    # Bigrams occur 3, 2, 1, 2 and 1 times: t = 2, 2, 1, 0 and Y = 2 / (2 + 4), so that D = ⅓, 3/2 and 3.
    assert find_discounts(np.array([3, 2, 1, 2, 1])) == pytest.approx((1 / 3, 3 / 2, 3))
    first = 0 + 3 / 3 * of_b  # a follows the beginning three times
    after_a = (2 - 3 / 2) / 3 + (3 / 2 + 1 / 3) / 3 * of_b  # b twice, c once
    after_b = (2 - 3 / 2) / 2 + (3 / 2) / 2 * of_end  # the end twice
    (logs,) = ngrams.log_probabilities([np.array([a, b])])
    assert np.exp(logs).tolist() == pytest.approx([first, after_a, after_b])
    assert ngrams.next_probabilities([BEGIN, c])[UNKNOWN] == pytest.approx(1 / 3 * uniform)


def test_a_discount_of_zero_would_leave_nothing_for_unseen_words() -> None:
    # Y = 2 / (2 + 2 · 2) = ⅓, so that D of 3 or more is 3 − 4 · ⅓ · 9 / 4 = 0, and that of 2, 2 − 3 · ⅓ · 4 / 2 = 0.
    assert find_discounts(np.repeat([1, 2, 3, 4], [2, 2, 4, 9])) == find_discounts(np.array([1])) == FALLBACK


def test_discounts_by_hand() -> None:
    counts = np.repeat([1, 2, 3, 4], [60, 20, 10, 5])
    # Y = 60 / (60 + 2 · 20) = 0.6
    expected = (1 - 2 * 0.6 * 20 / 60, 2 - 3 * 0.6 * 10 / 20, 3 - 4 * 0.6 * 5 / 10)
    assert find_discounts(counts) == pytest.approx(expected)
