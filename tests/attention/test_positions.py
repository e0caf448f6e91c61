"""Positions against their papers, feature by feature."""

import numpy as np
import pytest
import torch
from transcriptions_transformer import rotated, sinusoid

from saccade.attention import Learned, Rotary, Sinusoidal

PLACES = [0, 1, 2, 7, 100, 5000]


@pytest.mark.parametrize("width", [8, 5])
def test_sinusoidal(width: int) -> None:
    inputs = torch.randn(1, len(PLACES), width, dtype=torch.float64)
    placed = Sinusoidal(width)(inputs, torch.tensor([PLACES]))
    expected = np.stack([sinusoid(place, width) for place in PLACES])
    np.testing.assert_allclose((placed - inputs)[0].numpy(), expected, rtol=0, atol=1e-10)


def test_sinusoidal_by_hand() -> None:
    """Width 4: angles t and t/100."""
    placed = Sinusoidal(4)(torch.zeros(1, 2, 4), torch.tensor([[0, 1]]))
    expected = torch.tensor([[[0.0, 1.0, 0.0, 1.0], [0.84147098, 0.54030231, 0.00999983, 0.99995000]]])
    torch.testing.assert_close(placed, expected)


def test_learned_positions_are_rows_of_a_table() -> None:
    learned = Learned(3, longest=4).double()
    inputs = torch.randn(2, 3, 3, dtype=torch.float64)
    at = torch.tensor([[0, 1, 2], [2, 3, 9]])  # 9 is beyond the table, and shares its last row
    placed = learned(inputs, at)
    for b in range(2):
        for t in range(3):
            row = learned.table.weight[min(int(at[b, t]), 3)]
            torch.testing.assert_close(placed[b, t], inputs[b, t] + row)


@pytest.mark.parametrize("width", [2, 6])
def test_rotary(width: int) -> None:
    rows, heads = 2, 3
    by_head = torch.randn(rows, heads, len(PLACES), width, dtype=torch.float64)
    at = torch.tensor([PLACES, [place + 3 for place in PLACES]])
    turned = Rotary(width)(by_head, at)
    for r in range(rows):
        for n in range(heads):
            for t in range(len(PLACES)):
                expected = rotated(by_head[r, n, t].numpy(), int(at[r, t]))
                np.testing.assert_allclose(turned[r, n, t].numpy(), expected, rtol=0, atol=1e-10)


def test_rotary_by_hand() -> None:
    """(1, 0) at position 1 is (cos 1, sin 1)."""
    turned = Rotary(2)(torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]), torch.tensor([[0, 1]]))
    torch.testing.assert_close(turned, torch.tensor([[[[1.0, 0.0], [0.54030231, 0.84147098]]]]))


def test_rotary_products_depend_on_the_distance_alone() -> None:
    rotary, q, k = Rotary(4), torch.randn(1, 1, 1, 4), torch.randn(1, 1, 1, 4)

    def product(i: int, j: int) -> float:
        return float((rotary(q, torch.tensor([[i]])) * rotary(k, torch.tensor([[j]]))).sum())

    assert product(2, 5) == pytest.approx(product(11, 14), abs=1e-5)
    assert product(2, 5) != pytest.approx(product(2, 6), abs=1e-3)


def test_rotary_needs_pairs() -> None:
    with pytest.raises(ValueError, match="even, got 3"):
        Rotary(3)
