"""Windows: which words are neighbours, which are skipped, and that a position determines every random choice."""

from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.words.corpus import NumberedCorpus, NumberedText
from saccade.words.windows import BLOCK, NEGATIVES, WindowBatch, WindowBatches, usual_batch


def corpus_of(sentences: list[list[int]]) -> NumberedCorpus:
    ids = np.array([word for sentence in sentences for word in sentence], np.int32)
    numbers = np.repeat(np.arange(len(sentences), dtype=np.int32), [len(sentence) for sentence in sentences])
    counts = np.bincount(ids)
    parts = NumberedText(ids, numbers)
    words = tuple(f"w{place}" for place in range(len(counts)))
    return NumberedCorpus("text", words, counts, parts, parts, len(ids), "digest")


def batches_of(corpus: NumberedCorpus, **options: Any) -> WindowBatches:
    return WindowBatches(corpus, corpus.train, **{"words": 128, "window": 3, "subsample": 0.0, "seed": 5} | options)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=40), min_size=1, max_size=12), st.integers(1, 6))
def test_neighbours_are_the_words_of_the_sentence_within_reach(sentences: list[list[int]], window: int) -> None:
    corpus = corpus_of(sentences)
    found = []
    for batch in batches_of(corpus, window=window):
        neighbours = batch.neighbours()
        for row in range(len(batch)):
            for place in range(BLOCK):
                if batch.sentences[row, window + place] < 0:
                    assert not neighbours[row, place].any()
                    continue
                reach = int(batch.reach[row, place])
                near = batch.words[row, neighbours[row, place]].tolist()
                found.append((int(batch.words[row, window + place]), reach, near))
    expected = []
    for sentence in sentences:
        for place, word in enumerate(sentence):
            expected.append((word, sentence, place))
    assert len(found) == len(expected) == sum(batch.tokens for batch in batches_of(corpus, window=window))
    # The blocks come in random order: each word must be there with the neighbours that its own reach gives it.
    wanted = {
        (word, reach, tuple(sentence[max(0, place - reach) : place] + sentence[place + 1 : place + 1 + reach]))
        for word, sentence, place in expected
        for reach in range(1, window + 1)
    }
    assert {(word, reach, tuple(near)) for word, reach, near in found} <= wanted


def test_each_position_is_drawn_anew_and_repeats_after_a_resume() -> None:
    corpus = corpus_of([[1, 2, 3, 4] * 10] * 60)
    whole = batches_of(corpus)
    drawn = [batch for _ in range(2) for batch in whole]
    assert not torch.equal(drawn[0].negatives, drawn[len(drawn) // 2].negatives)  # of two epochs

    cut = batches_of(corpus)
    first = list(islice(iter(cut), 7))
    resumed = batches_of(corpus)
    resumed.restore(cut.state())
    rest = [batch for _ in range(2) for batch in resumed]
    for one, other in zip(drawn, first + rest, strict=True):
        assert all(map(torch.equal, one.tensors, other.tensors))
    assert resumed.epochs == whole.epochs == 2


def test_frequent_words_are_skipped_by_the_formula_of_word2vec() -> None:
    sentences = [[0] * 90 + [1] * 10] * 100
    batches = batches_of(corpus_of(sentences), subsample=1e-2, words=10_000)
    kept = torch.cat([batch.words[batch.sentences >= 0] for _ in range(20) for batch in batches])
    shares = [(kept == word).sum().item() / (20 * 100 * times) for word, times in ((0, 90), (1, 10))]
    for share, frequency in zip(shares, (0.9, 0.1)):
        # The margins repeat some words of the neighbouring blocks, 6 in 70.
        assert share == pytest.approx(((1e-2 / frequency) ** 0.5 + 1e-2 / frequency) * 70 / 64, rel=0.05)


def test_random_words_are_drawn_by_a_power_of_their_frequency() -> None:
    corpus = corpus_of([[0] * 16 + [1]] * 1000)
    drawn = torch.cat([batch.negatives.flatten() for batch in batches_of(corpus)])
    assert (drawn == 0).float().mean().item() == pytest.approx(16**0.75 / (16**0.75 + 1), abs=0.01)


def test_rows_of_a_batch_are_a_batch() -> None:
    batch = next(iter(batches_of(corpus_of([[0, 1, 2] * 60] * 3))))
    part = batch.rows(slice(1, 2))
    assert isinstance(part, WindowBatch) and len(part) == 1 and part.negatives.shape == (1, NEGATIVES["skip-gram"])
    assert torch.equal(part.neighbours(), batch.neighbours()[1:2])


def test_small_texts_have_small_batches() -> None:
    assert usual_batch(corpus_of([[0, 1]] * 100), "skip-gram") == 64
    large = corpus_of([[0, 1] * 50] * 70_000)
    assert (usual_batch(large, "skip-gram"), usual_batch(large, "cbow")) == (8_192, 16_384)
