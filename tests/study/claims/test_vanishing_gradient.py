"""The gradient of what is remembered, against products by hand."""

import pytest
import torch
from torch import nn

from saccade.study.claims.vanishing_gradient import Reader, draw_sequences


def silent(system: str) -> Reader:
    """A reader whose inputs, states and attention weights are all the same: every layer is zero but the gates."""
    torch.manual_seed(1)
    model = Reader(system)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name != "unit.of_input.bias":
                parameter.zero_()
        if system != "lstm1997":
            model.unit.of_input.bias.zero_()
        else:
            model.unit.of_input.bias[model.unit.width :] = 0.0  # all but the forget gate, which stays open
    return model


def test_each_step_of_tanh_multiplies_the_gradient_by_its_matrix() -> None:
    model = silent("tanh")
    (matrix,) = model.unit.recurrent_layers()
    nn.init.eye_(matrix.weight).data.mul_(0.5)
    tokens, _ = draw_sequences(3, gap=2)
    # h stays 0, where tanh has the derivative 1: each step back halves the gradient.
    assert model.gradient_norms(tokens) == pytest.approx([1, 1 / 2, 1 / 4, 1 / 8])


def test_without_a_forget_gate_the_cell_carries_the_gradient_unchanged() -> None:
    tokens, _ = draw_sequences(3, gap=2)
    # h = o∘tanh(c) with o = σ(0) = 1/2, and ∂c_t/∂c_{t−1} = 1.
    assert silent("lstm1997").gradient_norms(tokens) == pytest.approx([1, 1 / 2, 1 / 2, 1 / 2])


def test_attention_reads_every_state_at_once() -> None:
    tokens, _ = draw_sequences(3, gap=2)
    # Equal scores: each of the four states has a weight of 1/4, and nothing comes through the recurrence.
    assert silent("attention").gradient_norms(tokens) == pytest.approx([1 / 4] * 4)


def test_only_the_first_symbol_is_to_be_remembered() -> None:
    tokens, first = draw_sequences(50, gap=3)
    assert tokens.shape == (50, 5) and torch.equal(tokens[:, 0], first)
    assert set(tokens[:, 0].tolist()).isdisjoint(tokens[:, 1:].flatten().tolist())
    assert len(set(tokens[:, -1].tolist())) == 1
