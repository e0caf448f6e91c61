import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from saccade.align.links import entropy


@settings(deadline=None, max_examples=100)
@given(arrays(np.float32, (2, 3, 5), elements=st.floats(0, 1, width=32)))
def test_entropy_is_between_0_and_log_n(weights: np.ndarray) -> None:
    bits = entropy(weights)
    assert bits.shape == (2, 3)
    assert (bits >= 0).all()
    assert (bits <= np.log2(5) + 1e-6).all()
    assert entropy(4 * weights) == pytest.approx(bits, abs=1e-6)


def test_entropy_by_hand() -> None:
    rows = np.array([[0, 1, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0, 0, 0, 0]])
    assert entropy(rows) == pytest.approx([0, 2, 1, 0])
