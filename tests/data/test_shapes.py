import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data.shapes import BatchShape, ShapePlan

Array = npt.NDArray[np.int64]

pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=150)


def lengths_of(pairs: list[tuple[int, int]]) -> Array:
    return np.array(pairs, np.int64).reshape(-1, 2).T


def sentences(count: int, seed: int = 0) -> Array:
    """Lengths (2,N) like those of translations: one side predicts the other, roughly."""
    random = np.random.default_rng(seed)
    sources = np.clip(random.gamma(9, 1.7, count).astype(np.int64), 2, 60)
    targets = np.clip((sources * random.normal(1.05, 0.15, count)).astype(np.int64), 2, 70)
    return np.stack([sources, targets])


def divided(plan: ShapePlan, lengths: Array, seed: int = 1) -> list[tuple[BatchShape, Array]]:
    return list(plan.batches(lengths, np.random.default_rng(seed)))


def padding(batches: list[tuple[BatchShape, Array]], lengths: Array) -> float:
    """With the rows that partial batches lack."""
    return 1 - float(lengths.sum()) / sum(shape.positions for shape, _ in batches)


@settings(deadline=None, max_examples=100)
@given(pairs, pairs, st.integers(1, 300), st.integers(1, 8))
def test_every_pair_is_in_one_batch_that_holds_it(
    planned: list[tuple[int, int]], read: list[tuple[int, int]], tokens: int, most: int
) -> None:
    """Also where the plan was made for other pairs: a stream is planned by its first window."""
    plan = ShapePlan.of(lengths_of(planned), tokens, most)
    for lengths in filter(np.size, (lengths_of(planned), lengths_of(read))):
        batches = divided(plan, lengths)
        assert sorted(np.concatenate([members for _, members in batches])) == list(range(lengths.shape[1]))
        for shape, members in batches:
            assert 0 < len(members) <= shape.rows
            assert shape.rows == 1 or shape.rows * max(shape.source, shape.target) <= tokens
            assert lengths[0, members].max() <= shape.source and lengths[1, members].max() <= shape.target
            assert shape.source <= lengths_of(planned + read)[0].max() and shape.target <= 30


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 3000), st.integers(100, 3000), st.integers(1, 20))
def test_batches_are_full_except_the_last_of_the_largest_shapes(count: int, tokens: int, most: int) -> None:
    lengths = sentences(count)
    batches = divided(ShapePlan.of(lengths, tokens, most), lengths)
    partial = [shape for shape, members in batches if len(members) < shape.rows]
    assert len(set(partial)) == len(partial)
    for shape in partial:
        larger = [other for other, _ in batches if other != shape and other[1] >= shape[1] and other[2] >= shape[2]]
        assert not larger


def test_every_epoch_has_the_same_shapes_as_often_but_other_batches() -> None:
    lengths = sentences(20_000)
    plan = ShapePlan.of(lengths, 1000)
    first, second = divided(plan, lengths, seed=1), divided(plan, lengths, seed=2)
    assert [shape for shape, _ in first] == [shape for shape, _ in second]
    assert sum(set(one) == set(other) for (_, one), (_, other) in zip(first, second)) < len(first) / 10


@pytest.mark.parametrize(("count", "tokens"), [(3_000, 600), (20_000, 1_500), (30_000, 4_096), (100_000, 16_384)])
def test_sentences_need_few_shapes_and_little_padding(count: int, tokens: int) -> None:
    lengths = sentences(count)
    batches = divided(ShapePlan.of(lengths, tokens), lengths)
    assert len({shape for shape, _ in batches}) <= 64 and padding(batches, lengths) < 0.05
    ideal = np.maximum(*lengths).sum() / tokens
    assert len(batches) < 1.25 * ideal + 4  # the batches are nearly as large as allowed


def test_more_shapes_are_planned_where_padding_would_exceed_a_twentieth() -> None:
    lengths = np.random.default_rng(0).integers(2, 60, (2, 50_000))  # one side does not predict the other
    shapes = {shape for shape, _ in divided(ShapePlan.of(lengths, 2_000, 16), lengths)}
    assert 16 < len(shapes) <= 28


def test_a_later_window_needs_no_further_shapes() -> None:
    plan = ShapePlan.of(sentences(20_000), 1_500)
    planned, later = (divided(plan, sentences(20_000, seed)) for seed in (0, 1))
    assert len({shape for shape, _ in later} - {shape for shape, _ in planned}) <= 3
    assert padding(later, sentences(20_000, 1)) < 0.06


def test_many_rows_are_a_multiple_of_eight() -> None:
    lengths = sentences(50_000)
    batches = divided(ShapePlan.of(lengths, 4_096), lengths)
    assert all(shape.rows % 8 == 0 for shape, _ in batches if shape.rows >= 128)
    assert sum(shape.rows >= 128 for shape, _ in batches) > len(batches) / 2


def test_pairs_that_do_not_fill_a_batch_are_read_in_a_larger_shape() -> None:
    """At most 9 short pairs make a batch; the 2 others complete the batch of 6 long ones."""
    lengths = np.array([[5] * 11 + [6] * 6] * 2, np.int64)
    batches = divided(ShapePlan.of(lengths, 48), lengths)
    assert [(tuple(shape), len(members)) for shape, members in batches] == [((9, 5, 5), 9), ((8, 6, 6), 8)]
