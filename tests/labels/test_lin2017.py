"""Lin 2017 by hand: what the hops read, the matrix of the sentence, and the penalty."""

import math

import pytest
import torch

from saccade.labels.lin2017 import Lin2017
from saccade.labels.settings import PRESETS, LabelConfig

CONFIG = LabelConfig(width=2, hop_width=1, hops=2, hidden=None, embedding=2)


def reader_by_hand() -> Lin2017:
    """W_s1 = (1, 0), and hops ln 3 / tanh 1 and −ln 3 / tanh 1, so that the scores of (1, ·) are ±ln 3."""
    reader = Lin2017(CONFIG)
    with torch.no_grad():
        reader.attention.of_keys.weight.copy_(torch.tensor([[1.0, 0.0]]))
        reader.attention.queries.copy_(torch.tensor([[1.0], [-1.0]]) * math.log(3) / math.tanh(1))
    return reader


def test_equations_6_to_8_by_hand() -> None:
    annotations = torch.tensor([[[1.0, 4.0], [0.0, 8.0], [math.nan, math.nan]]])
    vector, weights, penalty = reader_by_hand()(annotations, torch.tensor([[True, True, False]]))
    # The scores are (ln 3, 0) and (−ln 3, 0): the weights are in the ratios 3 : 1 and 1 : 3.
    assert weights is not None and penalty is not None
    assert weights[0].tolist() == [pytest.approx([0.75, 0.25, 0]), pytest.approx([0.25, 0.75, 0])]
    # M = A H, one row after the other: (¾·1, ¾·4 + ¼·8) and (¼·1, ¼·4 + ¾·8)
    assert vector[0].tolist() == pytest.approx([0.75, 5, 0.25, 7])
    # A Aᵀ has 10/16 on the diagonal and 6/16 beside it: ‖A Aᵀ − I‖² = 2 (3/8)² + 2 (3/8)²
    assert penalty.tolist() == pytest.approx([4 * 9 / 64])


def test_hops_that_read_one_word_each_cost_nothing() -> None:
    reader = reader_by_hand()
    with torch.no_grad():
        reader.attention.queries.mul_(1e4)
    _, _, penalty = reader(torch.tensor([[[1.0, 4.0], [0.0, 8.0]]]), torch.ones(1, 2, dtype=torch.bool))
    assert penalty is not None and penalty.item() == pytest.approx(0, abs=1e-6)


def test_the_preset_paper_has_the_sizes_of_the_paper() -> None:
    paper = PRESETS["paper"]
    assert (paper.encoder, paper.cell, paper.bidirectional, paper.layers) == ("recurrent", "lstm", True, 1)
    assert (paper.width, paper.hop_width, paper.hops, paper.penalty) == (2 * 300, 350, 30, 1.0)
