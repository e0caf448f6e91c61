"""Batches of the first epochs, in which half of the pairs go from target to source."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_batching import Lengths, budgets, corpus_of, lengths, listed, seeds
from test_streaming import VOCABULARIES, stream_of

from saccade.data import Mixture
from saccade.data.batching import Batch, Batches
from saccade.data.corpus import Corpus
from saccade.text import BOS, EOS


def is_reversed(batch: Batch) -> bool:
    """In `corpus_of`, the ids of targets are odd."""
    return bool(batch.source[0, 0] % 2)


def reversed_pairs(epoch: list[Batch]) -> dict[int, bool]:
    return {index: is_reversed(batch) for batch in epoch for index in batch.indices.tolist()}


def endless(batches: Batches) -> itertools.chain[Batch]:
    return itertools.chain.from_iterable(itertools.repeat(batches))


def assert_equal(batches: list[Batch], expected: list[Batch]) -> None:
    assert listed(batches) == listed(expected)
    for batch, other in zip(batches, expected, strict=True):
        assert batch.source.equal(other.source) and batch.target_out.equal(other.target_out)


@settings(deadline=None, max_examples=50)
@given(lengths, budgets, seeds)
def test_two_epochs_have_every_pair_in_both_directions(pairs: Lengths, tokens: int, seed: int) -> None:
    batches = Batches(corpus_of(pairs), tokens=tokens, seed=seed, both_directions=4)
    for _ in range(2):
        odd, even = reversed_pairs(list(batches)), reversed_pairs(list(batches))
        assert odd == {index: index % 2 == 1 for index in range(len(pairs))}
        assert even == {index: index % 2 == 0 for index in range(len(pairs))}


@settings(deadline=None, max_examples=50)
@given(lengths, budgets, seeds)
def test_an_epoch_has_every_pair_once_within_the_token_budget(pairs: Lengths, tokens: int, seed: int) -> None:
    batches = Batches(corpus_of(pairs), tokens=tokens, seed=seed, both_directions=1)
    seen = list(batches)
    assert sorted(itertools.chain(*listed(seen))) == list(range(len(pairs)))
    assert all(batch.size <= tokens or len(batch) == 1 for batch in seen)


@settings(deadline=None, max_examples=30)
@given(lengths, budgets)
def test_a_reversed_batch_reads_targets_and_writes_sources(pairs: Lengths, tokens: int) -> None:
    corpus = corpus_of(pairs)
    for batch in Batches(corpus, tokens=tokens, both_directions=1):
        read, written = (corpus.target, corpus.source) if is_reversed(batch) else (corpus.source, corpus.target)
        for row, index in enumerate(batch.indices.tolist()):
            source, target = read(index).tolist(), written(index).tolist()
            readable = batch.target_readable[row]
            assert batch.source[row][batch.source_readable[row]].tolist() == [*source, EOS]
            assert batch.target_in[row][readable].tolist() == [BOS, *target]
            assert batch.target_out[row][readable].tolist() == [*target, EOS]
        assert batch.tokens == int(batch.target_readable.sum())


def test_after_the_first_epochs_batches_are_as_usual() -> None:
    corpus = corpus_of([(n % 9 + 1, n % 7 + 1) for n in range(100)])
    usual, both = Batches(corpus, tokens=60), Batches(corpus, tokens=60, both_directions=2)
    for epoch in range(1, 5):
        expected, batches = list(usual), list(both)
        assert any(map(is_reversed, batches)) == (epoch <= 2)
        if epoch > 2:
            assert_equal(batches, expected)


def test_both_directions_are_mixed_within_an_epoch() -> None:
    random = np.random.default_rng(1)
    corpus = corpus_of([(int(s), int(t)) for s, t in random.integers(3, 12, (400, 2))])
    directions = [is_reversed(batch) for batch in Batches(corpus, tokens=60, both_directions=1)]
    assert 0.4 < np.mean(directions) < 0.6
    assert directions != sorted(directions) and directions != sorted(directions, reverse=True)


def test_reversed_batches_have_the_planned_shapes_with_their_sides_swapped() -> None:
    corpus = corpus_of([(9, 1 + n % 3) for n in range(96)])
    batches = Batches(corpus, tokens=80, both_directions=1)
    shapes = {is_turned: set[tuple[int, int]]() for is_turned in (False, True)}
    for batch in batches:
        shapes[is_reversed(batch)].add((batch.source.shape[1], batch.target_in.shape[1]))
    assert shapes[False] == {(10, 2), (10, 3), (10, 4)}
    assert shapes[True] == {(2, 10), (3, 10), (4, 10)}


def test_the_shapes_of_both_directions_are_measured() -> None:
    corpus = corpus_of([(3, 1)] * 8)
    assert Batches(corpus, tokens=8).measure().shapes == 1
    both = Batches(corpus, tokens=8, both_directions=1).measure()
    assert (both.batches, both.shapes, both.padding) == (4, 2, 0.0)


@settings(deadline=None, max_examples=50)
@given(lengths, budgets, seeds, st.data())
def test_a_restored_position_continues_exactly(pairs: Lengths, tokens: int, seed: int, data: st.DataObject) -> None:
    def make() -> Batches:
        return Batches(corpus_of(pairs), tokens=tokens, seed=seed, both_directions=2)

    batches = make()
    stop = data.draw(st.integers(0, 3 * len(batches)))
    stream = endless(batches)
    for _ in itertools.islice(stream, stop):
        pass
    state = batches.state()
    rest = list(itertools.islice(stream, 2 * len(batches)))
    resumed = make()
    resumed.restore(state)
    assert_equal(list(itertools.islice(endless(resumed), len(rest))), rest)
    assert resumed.state() == batches.state()


@pytest.mark.parametrize("pairs", [[(3, 2)], [(3, 2), (4, 4)]])
def test_a_direction_may_have_no_pairs(pairs: Lengths) -> None:
    batches = Batches(corpus_of(pairs), tokens=4, both_directions=2)
    assert [len(list(batches)) for _ in range(3)] == [len(pairs)] * 3


def test_pairs_of_a_mixture_that_occur_twice_have_one_direction_in_an_epoch() -> None:
    mixture = Mixture([corpus_of([(3, 4)] * 9), corpus_of([(7, 5)] * 4)], [1.0, 2.0])
    batches = Batches(mixture, tokens=30, both_directions=2)
    for epoch in (1, 2):
        seen = list(batches)
        assert all(((index + epoch) % 2 == 0) == reverse for index, reverse in reversed_pairs(seen).items())
        assert sum(map(len, seen)) == 9 + 8


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_pairs_of_a_stream_change_their_direction_from_epoch_to_epoch(sampling: float) -> None:
    stream = stream_of(sizes=(9, 30), buffer=10, sampling=sampling)
    windows = [stream.window(1, 1, number) for number in range(stream.windows)]
    batches = Batches(stream, tokens=60, both_directions=2)
    epochs = [list(batches) for _ in range(2)]
    indices = sorted(index for window in windows if window.indices is not None for index in window.indices.tolist())
    for number, epoch in enumerate(epochs, 1):
        assert sorted(itertools.chain(*listed(epoch))) == indices
        for batch in epoch:
            text = VOCABULARIES.source.decode(batch.source[0][batch.source_readable[0]][:-1].tolist())
            assert all((index + number) % 2 == text.startswith("the dog") for index in batch.indices.tolist())


def test_an_empty_epoch_has_no_batches() -> None:
    batches = Batches(Mixture([corpus_of([(3, 4)])], [0.4]), tokens=30, both_directions=9)
    assert [len(list(batches)) for _ in range(5)] == [0, 0, 1, 0, 1]


def test_a_reversed_batch_moves_to_a_device_in_one_piece() -> None:
    corpus: Corpus = corpus_of([(2, 5)])
    (batch,) = (batch for batch in Batches(corpus, both_directions=2))
    assert not is_reversed(batch)
    batches = Batches(corpus, both_directions=2)
    batches.restore({"epoch": 2, "window": 0, "index": 0})
    (batch,) = batches
    assert is_reversed(batch) and batch.together is not None
    moved = batch.to(torch.device("meta"))
    assert moved.source.shape == (1, 6) and moved.target_in.shape == (1, 3)
