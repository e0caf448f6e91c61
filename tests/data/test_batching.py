import itertools
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import CleaningReport, Corpus, Mixture
from saccade.data.batching import Batch, Batches, batch_by_length, find_batch_starts, pad_sources
from saccade.data.corpus import Side
from saccade.models.contract import map_tensors
from saccade.text import BOS, EOS, PAD

Lengths = list[tuple[int, int]]


def corpus_of(lengths: Lengths) -> Corpus:
    """Ids tell where they come from: 1000 · pair + position, sources even, targets odd."""
    sides = []
    for side in (0, 1):
        rows = [1000 * (pair + 1) + 2 * np.arange(both[side]) + side for pair, both in enumerate(lengths)]
        offsets = np.cumsum([0, *map(len, rows)])
        sides.append(Side(np.concatenate(rows).astype(np.int32), offsets.astype(np.int64)))
    count = len(lengths)
    return Corpus(sides[0], sides[1], np.arange(1, count + 1), CleaningReport(kept=count))


lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)
budgets = st.integers(1, 200)
seeds = st.integers(0, 1000)


def listed(batches: list[Batch]) -> list[list[int]]:
    return [batch.indices.tolist() for batch in batches]


@settings(deadline=None, max_examples=100)
@given(lengths, budgets, seeds)
def test_an_epoch_has_every_pair_once_within_the_token_budget(pairs: Lengths, tokens: int, seed: int) -> None:
    batches = Batches(corpus_of(pairs), tokens=tokens, seed=seed)
    for _ in range(2):
        seen = list(batches)
        assert len(seen) == len(batches)
        assert sorted(itertools.chain(*listed(seen))) == list(range(len(pairs)))
        for batch in seen:
            size = max(batch.source.numel(), batch.target_in.numel())
            assert size <= tokens or len(batch) == 1


def test_a_batch_may_have_exactly_the_token_budget() -> None:
    batches = list(Batches(corpus_of([(4, 2), (3, 4)] * 3), tokens=15))  # with eos, 5 ids on the longer side
    assert [max(batch.source.numel(), batch.target_in.numel()) for batch in batches] == [15, 15]


@pytest.mark.parametrize(
    ("lengths", "tokens", "cuts"),
    [
        ([5, 5, 5, 5], 10, [0, 2, 4]),
        ([5, 5, 5, 5], 9, [0, 1, 2, 3, 4]),
        ([1, 2, 3, 4], 9, [0, 3, 4]),  # 3 · 3 = 9 fits, 4 · 4 does not
        ([2, 30], 10, [0, 1, 2]),
        ([], 10, [0]),
    ],
)
def test_each_batch_is_as_large_as_fits(lengths: list[int], tokens: int, cuts: list[int]) -> None:
    assert find_batch_starts(np.array(lengths, np.int64), tokens) == cuts


@settings(deadline=None, max_examples=50)
@given(lengths, budgets)
def test_a_batch_contains_its_pairs(pairs: Lengths, tokens: int) -> None:
    corpus = corpus_of(pairs)
    for batch in Batches(corpus, tokens=tokens):
        assert (
            batch.source.dtype == batch.target_in.dtype == batch.target_out.dtype == batch.indices.dtype == torch.long
        )
        assert batch.source_readable.dtype == batch.target_readable.dtype == torch.bool
        for row, index in enumerate(batch.indices.tolist()):
            source, target = corpus.source(index).tolist(), corpus.target(index).tolist()
            readable = batch.target_readable[row]
            assert batch.source[row][batch.source_readable[row]].tolist() == [*source, EOS]
            assert batch.target_in[row][readable].tolist() == [BOS, *target]
            assert batch.target_out[row][readable].tolist() == [*target, EOS]
            assert (batch.source[row][~batch.source_readable[row]] == PAD).all()
            assert (batch.target_in[row][~readable] == PAD).all() and (batch.target_out[row][~readable] == PAD).all()
            assert batch.source_readable[row].tolist() == sorted(batch.source_readable[row].tolist(), reverse=True)


@settings(deadline=None, max_examples=50)
@given(lengths, budgets, seeds)
def test_batches_depend_on_seed_and_epoch_alone(pairs: Lengths, tokens: int, seed: int) -> None:
    corpus = corpus_of(pairs)
    one, other = Batches(corpus, tokens=tokens, seed=seed), Batches(corpus, tokens=tokens, seed=seed)
    assert [listed(list(one)) for _ in range(3)] == [listed(list(other)) for _ in range(3)]


@settings(deadline=None, max_examples=50)
@given(lengths, budgets, seeds, st.data())
def test_a_restored_position_continues_exactly(pairs: Lengths, tokens: int, seed: int, data: st.DataObject) -> None:
    corpus = corpus_of(pairs)

    def endless(batches: Batches) -> itertools.chain[Batch]:
        return itertools.chain.from_iterable(itertools.repeat(batches))

    batches = Batches(corpus, tokens=tokens, seed=seed)
    stop = data.draw(st.integers(0, 3 * len(batches)))
    stream = endless(batches)
    for done, _ in enumerate(itertools.islice(stream, stop), 1):
        assert abs(batches.epochs - done / len(batches)) < 1e-9
    state = batches.state()
    rest = listed(list(itertools.islice(stream, 2 * len(batches))))

    resumed = Batches(corpus, tokens=tokens, seed=seed)
    resumed.restore(state)
    assert listed(list(itertools.islice(endless(resumed), 2 * len(batches)))) == rest
    assert resumed.state() == batches.state()


def test_epochs_and_seeds_differ_and_lengths_are_grouped() -> None:
    random = np.random.default_rng(0)
    pairs = [(int(n), int(n) + 1) for n in random.integers(3, 30, 500)]
    batches = Batches(corpus_of(pairs), tokens=300)
    first, second = list(batches), list(batches)
    assert listed(first) != listed(second) != listed(list(Batches(corpus_of(pairs), tokens=300, seed=2)))
    assert batches.state() == {"epoch": 3, "window": 0, "index": 0}
    padded = sum(batch.source.numel() for batch in first)
    assert sum(int(batch.source_readable.sum()) for batch in first) > 0.9 * padded
    firsts = [batch.source.shape[1] for batch in first]
    assert firsts != sorted(firsts), "short and long batches are mixed"


def test_pairs_with_equal_longer_sides_are_grouped_by_the_shorter() -> None:
    corpus = corpus_of([(9, 1 + n % 8) for n in range(64)])  # eight of each target length, and batches of eight
    assert all(len(set(corpus.target.lengths[batch.indices])) == 1 for batch in Batches(corpus, tokens=80))


def test_a_batch_moves_to_a_device_and_sources_are_padded_alone() -> None:
    (batch,) = Batches(corpus_of([(2, 3)]))
    moved = batch.to("meta")
    assert moved.source.device.type == moved.indices.device.type == "meta"
    source, readable = pad_sources([[5, 6], []])
    assert source.tolist() == [[5, 6, EOS], [EOS, PAD, PAD]]
    assert readable.tolist() == [[True, True, True], [True, False, False]]


@settings(deadline=None, max_examples=30)
@given(lengths, st.data())
def test_rows_of_a_batch_know_their_tokens_on_any_device(pairs: Lengths, data: st.DataObject) -> None:
    batch = next(iter(Batches(corpus_of(pairs), tokens=400)))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(batch))] * 2)))
    part = batch.rows(slice(start, end, data.draw(st.integers(1, 3))))
    assert part.tokens == int(part.target_readable.sum())
    assert part.to("meta").tokens == part.tokens and part.to("meta").source.shape == part.source.shape


@settings(deadline=None, max_examples=30)
@given(lengths)
def test_a_new_batch_is_one_piece_of_memory(pairs: Lengths) -> None:
    for batch in Batches(corpus_of(pairs), tokens=200):
        assert batch.together is not None and batch.rows(slice(0, None, 1)) is batch
        parts = (batch.source, batch.source_readable, batch.target_in, batch.target_out, batch.target_readable)
        assert {part.untyped_storage().data_ptr() for part in parts} == {batch.together.data_ptr()}
        assert batch.together.nbytes == sum(part.nbytes for part in (*parts, batch.indices))
        cloned = map_tensors(torch.clone, batch)  # as the input of a CUDA graph
        assert cloned.together is None and cloned.tokens == batch.tokens and (cloned.source == batch.source).all()


def test_leaving_an_epoch_early_leaves_no_thread_and_the_position_of_the_last_batch() -> None:
    before = set(threading.enumerate())
    batches = Batches(corpus_of([(5, 5)] * 50), tokens=12)
    for _ in itertools.islice(batches, 3):
        pass
    assert batches.state() == {"epoch": 1, "window": 0, "index": 3}
    assert set(threading.enumerate()) == before


def test_batches_are_measured_with_the_rows_that_they_lack() -> None:
    measured = Batches(corpus_of([(3, 3)] * 5), tokens=8).measure()  # two pairs of 4 tokens in each batch
    assert (measured.batches, measured.shapes) == (3, 1) and measured.padding == pytest.approx(1 / 6)
    assert str(measured) == "3 in 1 shape, 16.7% padding"


def test_batches_of_a_mixture_follow_the_weights() -> None:
    mixture = Mixture([corpus_of([(3, 4)] * 9), corpus_of([(7, 5)] * 4)], [1.0, 2.5])
    batches = Batches(mixture, tokens=30)
    for twice in (2, 3):
        seen = sorted(itertools.chain(*listed(list(batches))))
        assert seen[:9] == list(range(9)) and len(seen) == 9 + 10
        assert {seen.count(place) for place in range(9, 13)} <= {twice, 2, 3}
    assert batches.epochs == 2.0


def test_a_small_weight_may_leave_a_corpus_out_of_an_epoch() -> None:
    batches = Batches(Mixture([corpus_of([(3, 4)])], [0.4]), tokens=30)
    assert [len(list(batches)) for _ in range(5)] == [0, 0, 1, 0, 1]
    assert batches.epochs == 5.0


@pytest.mark.gpu
def test_a_batch_in_pinned_memory_moves_to_a_gpu_in_one_copy() -> None:
    pairs = [(n % 7 + 1, n % 5 + 1) for n in range(200)]
    plain, pinned = (Batches(corpus_of(pairs), tokens=100, pinned=is_pinned) for is_pinned in (False, True))
    for expected, batch in zip(plain, pinned, strict=True):
        assert batch.together is not None and batch.together.is_pinned()
        moved = batch.to("cuda")
        assert moved.together is not None and moved.together.is_cuda and moved.tokens == expected.tokens
        for name in ("source", "source_readable", "target_in", "target_out", "target_readable", "indices"):
            assert torch.equal(getattr(moved, name).cpu(), getattr(expected, name))
        part = moved.rows(slice(1, None, 2))
        assert torch.equal(part.source.cpu(), expected.source[1::2])


@given(lengths=st.lists(st.integers(1, 40), max_size=60), tokens=st.integers(1, 200))
def test_batches_by_length_are_few_and_even(lengths: list[int], tokens: int) -> None:
    batches = batch_by_length(lengths, tokens)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    padded = [len(batch) * max(lengths[place] for place in batch) for batch in batches]
    assert all(size <= tokens or len(batch) == 1 for size, batch in zip(padded, batches, strict=True))
    fewest = len(find_batch_starts(np.sort(np.array(lengths, np.int64)), tokens)) - 1
    assert len(batches) == fewest
    assert [max(lengths[place] for place in batch) for batch in batches] == sorted(
        (max(lengths[place] for place in batch) for batch in batches), reverse=True
    )


def test_no_batch_is_left_with_a_few_texts() -> None:
    assert [len(batch) for batch in batch_by_length([10] * 17, 80)] == [5, 6, 6]
