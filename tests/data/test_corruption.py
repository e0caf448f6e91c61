"""Corrupted texts: what is hidden, where, and that the target restores it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.data.corpus import PairWindow, Side
from saccade.data.corruption import MASK, Corruption, hide_fragment, infill, shuffle
from saccade.ranges import OptionError

FIRST = 4  # the first id of a text: each token of these tests occurs once
LENGTHS = st.lists(st.integers(0, 30), max_size=40)
SHARES = st.floats(0.01, 0.99)


def texts_of(lengths: list[int]) -> Side:
    offsets = np.array([0, *np.cumsum(lengths)], np.int64)
    return Side(np.arange(FIRST, FIRST + offsets[-1], dtype=np.int32), offsets)


class Drawn:
    """Random numbers that were chosen by hand."""

    def __init__(self, uniform: list[list[float]], poisson: list[int]) -> None:
        self._uniform, self._poisson = iter(uniform), poisson

    def random(self, size: int) -> Any:
        drawn = np.array(next(self._uniform))
        assert len(drawn) == size
        return drawn

    def poisson(self, mean: float, size: int) -> Any:
        assert mean == 3.0 and len(self._poisson) == size
        return np.array(self._poisson)


def test_spans_by_hand() -> None:
    # n = ⌊0.3·10 + 0.5⌋ = 3 hidden and 7 visible tokens. Spans of 2, 0 and 5 tokens, the last cut to 3 − 2 = 1, are put
    # before the visible tokens ⌊8·0.5⌋ = 4, ⌊8·0⌋ = 0 and ⌊8·0.99⌋ = 7, in their order: 0, 4, 7.
    random: Any = Drawn([[0.5], [0.5, 0.0, 0.99]], [2, 0, 5])
    source = infill(texts_of([10]), 0.3, 3.0, random)
    assert source(0).tolist() == [MASK, 6, 7, 8, 9, MASK, 10, 11, 12, MASK]


def test_fragment_by_hand() -> None:
    # n = ⌊0.5·5 + 0.6⌋ = 3 tokens from ⌊0.7·(5 − 3 + 1)⌋ = 2 on
    random: Any = Drawn([[0.6], [0.7]], [])
    assert hide_fragment(texts_of([5]), 0.5, random)(0).tolist() == [4, 5, MASK, MASK, MASK]


def test_shuffled_tokens_by_hand() -> None:
    # The keys 0 + 1.8, 1 + 0.2, 2 + 0, 3 + 1.9 sort the tokens into the order 1, 0, 2, 3.
    random: Any = Drawn([[0.9, 0.1, 0.0, 0.95]], [])
    assert shuffle(texts_of([4]), 1, random)(0).tolist() == [5, 4, 6, 7]


@given(lengths=LENGTHS, share=SHARES, mean=st.floats(0.5, 10), seed=st.integers(0, 99))
def test_every_gap_has_a_mask(lengths: list[int], share: float, mean: float, seed: int) -> None:
    """Between tokens that do not follow one another in the text there is a mask, so the text has what is missing."""
    texts = texts_of(lengths)
    source = infill(texts, share, mean, np.random.default_rng(seed))
    assert len(source.lengths) == len(lengths)
    for place, length in enumerate(lengths):
        corrupted, text = source(place).tolist(), texts(place).tolist()
        assert len(corrupted) <= length
        hidden = length - sum(token != MASK for token in corrupted)
        assert share * length - 1 < hidden < share * length + 1
        assert (hidden > 0) == (MASK in corrupted)
        expected = text[0] if text else 0
        is_gap = False
        for token in corrupted:
            if token == MASK:
                is_gap = True
                continue
            assert token in text and (token > expected if is_gap and token != expected else token == expected)
            expected, is_gap = token + 1, False
        assert is_gap or not text or expected == text[-1] + 1


@given(lengths=LENGTHS, share=SHARES, seed=st.integers(0, 99))
def test_one_fragment_is_hidden(lengths: list[int], share: float, seed: int) -> None:
    texts = texts_of(lengths)
    source = hide_fragment(texts, share, np.random.default_rng(seed))
    assert ((source.ids == texts.ids) | (source.ids == MASK)).all() and source.lengths.tolist() == lengths
    for place, length in enumerate(lengths):
        masks = np.flatnonzero(source(place) == MASK)
        assert min(1, length) <= len(masks) < max(2, share * length + 1)
        assert len(masks) == 0 or masks[-1] - masks[0] == len(masks) - 1


@given(lengths=LENGTHS, distance=st.integers(0, 5), seed=st.integers(0, 99))
def test_shuffled_tokens_stay_near(lengths: list[int], distance: int, seed: int) -> None:
    texts = texts_of(lengths)
    moved = shuffle(texts, distance, np.random.default_rng(seed))
    assert (np.abs(moved.ids - texts.ids) <= distance).all()
    assert all(sorted(moved(place)) == texts(place).tolist() for place in range(len(lengths)))


@pytest.mark.parametrize(
    ("noise", "share"), [(Corruption(), 0.3), (Corruption(objective="masked"), 0.5), (Corruption(share=0.15), 0.15)]
)
def test_share_and_mean_length_are_as_requested(noise: Corruption, share: float) -> None:
    texts = texts_of(np.random.default_rng(1).integers(1, 60, 5_000).tolist())
    source = noise.corrupt(texts, np.random.default_rng(2))
    hidden = len(texts.ids) - int((source.ids != MASK).sum())
    assert hidden / len(texts.ids) == pytest.approx(share, rel=0.03)


def test_long_texts_have_spans_of_the_mean_length() -> None:
    texts = texts_of([1_000] * 100)
    source = infill(texts, 0.3, 3.0, np.random.default_rng(1))
    assert 0.3 * 1_000 * 100 / (source.ids == MASK).sum() == pytest.approx(3.0, rel=0.03)


@pytest.mark.parametrize("objective", ["denoise", "masked"])
def test_windows_are_the_same_for_one_seed_and_differ_between_epochs(objective: Any) -> None:
    texts, noise = texts_of([9] * 50), Corruption(objective=objective)
    window = PairWindow(source=texts, target=texts, places=np.array([3, 3, 7, 0]), indices=np.arange(50) + 100)
    first, again, later = (noise(window, 1, epoch, 0) for epoch in (1, 1, 2))
    assert np.array_equal(first.source.join(first.places)[0], again.source.join(again.places)[0])
    assert not np.array_equal(first.source.join(first.places)[0], later.source.join(later.places)[0])
    assert first.indices is not None and first.indices.tolist() == [103, 103, 107, 100]
    assert [first.target(place).tolist() for place in first.places] == [texts(p).tolist() for p in (3, 3, 7, 0)]


@pytest.mark.parametrize("objective", ["denoise", "masked"])
@pytest.mark.parametrize("lengths", [[], [0], [0, 1, 0], [1]])
def test_empty_texts_and_texts_of_one_token(objective: Any, lengths: list[int]) -> None:
    source = Corruption(objective=objective).corrupt(texts_of(lengths), np.random.default_rng(1))
    assert source.lengths.tolist() == lengths


def test_shuffling_is_for_denoise() -> None:
    moved = Corruption(shuffle=3).corrupt(texts_of([20]), np.random.default_rng(1))
    visible = moved.ids[moved.ids != MASK]
    assert visible.tolist() != sorted(visible)
    with pytest.raises(OptionError, match="is for objective = 'denoise'"):
        Corruption(objective="masked", shuffle=1)
