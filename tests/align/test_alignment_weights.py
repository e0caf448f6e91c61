import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align.links import Span, to_words, weight_matrix


@pytest.mark.parametrize(
    "weights",
    [
        [[0.25, 0.75]],
        np.array([[0.25, 0.75]], dtype=np.float32),
        torch.tensor([[0.25, 0.75]], dtype=torch.bfloat16, requires_grad=True),
    ],
    ids=["lists", "numpy", "torch"],
)
def test_any_kind_of_array_is_accepted(weights: object) -> None:
    matrix = weight_matrix(weights, targets=1, sources=2)
    assert matrix.dtype == np.float64
    assert matrix.tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1.0, 0.0]], r"\(3, 2\), got \(1, 2\)"),
        ([1.0, 0.0], r"\(3, 2\), got \(2,\)"),
        (np.zeros((1, 3, 2)), r"\(3, 2\), got \(1, 3, 2\)"),
        ([[1.0], [0.0, 1.0]], "not a rectangle"),
        ([["a", "b"]], "not a rectangle"),
        ([[0.0, 1.0], [0.0, float("nan")], [0.0, 0.0]], "nan at target 1, source 1"),
    ],
)
def test_bad_weights_are_refused(weights: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        weight_matrix(weights, targets=3, sources=2)


def test_tokens_are_summed_over_the_source_and_averaged_over_the_target() -> None:
    # source pieces: un|happy|cat|</s>; target pieces: mal|heureux|chat|</s>
    weights = [[0.5, 0.3, 0.1, 0.1], [0.2, 0.6, 0.2, 0.0], [0.0, 0.1, 0.8, 0.1], [0.1, 0.1, 0.1, 0.7]]
    found = to_words(weights, [0, 0, 1, None], [(0, 1), (0, 1), (1, 2), None])
    assert found == pytest.approx(np.array([[0.8, 0.15], [0.1, 0.8]]))


def test_a_token_over_several_words_is_shared_among_them() -> None:
    assert to_words([[0.6, 0.4]], [(0, 2), 2], [(0, 2)]) == pytest.approx(np.array([[0.3, 0.3, 0.4]] * 2))


def test_words_without_a_token_have_no_weight() -> None:
    found = to_words([[1.0]], [0], [1], source_words=2, target_words=3)
    assert found.tolist() == [[0, 0], [1, 0], [0, 0]]


def test_a_lone_space_belongs_to_no_word() -> None:
    assert to_words([[0.4, 0.6]], [(0, 0), 0], [0]).tolist() == [[0.6]]


@pytest.mark.parametrize("span", [-1, 2, (1, 3), (1, 0)])
def test_spans_out_of_range_are_refused(span: Span) -> None:
    with pytest.raises(ValueError, match="token 0 has the word span"):
        to_words([[1.0]], [span], [0], source_words=2)


def test_there_must_be_one_span_per_token() -> None:
    with pytest.raises(ValueError, match=r"\(1, 2\), got \(1, 1\)"):
        to_words([[1.0]], [0, 1], [0])


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=5), st.lists(st.integers(1, 3), min_size=1, max_size=5), st.data()
)
def test_rows_that_sum_to_one_still_do(source: list[int], target: list[int], data: st.DataObject) -> None:
    source_spans = [word for word, pieces in enumerate(source) for _ in range(pieces)]
    target_spans = [word for word, pieces in enumerate(target) for _ in range(pieces)]
    seed = data.draw(st.integers(0, 1000))
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(source_spans)), size=len(target_spans))
    found = to_words(weights, source_spans, target_spans)
    assert found.shape == (len(target), len(source))
    assert found.sum(axis=1) == pytest.approx(1)
