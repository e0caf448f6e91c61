import math

import pytest
import torch

from saccade.layers.recurrent import GatedUnit, Maxout, Recurrence, RecurrentEncoder


def test_the_unit_by_hand() -> None:
    unit = GatedUnit(1, 1)
    with torch.no_grad():
        unit.of_input.weight.copy_(torch.tensor([[1.0], [2.0], [3.0]]))  # reset, update, candidate
        unit.of_input.bias.zero_()
        unit.of_gates.weight.copy_(torch.tensor([[0.5], [-0.5]]))
        unit.of_candidate.weight.fill_(2.0)
    x, h = 0.1, 0.4
    reset, update = (1 / (1 + math.exp(-e)) for e in (1 * x + 0.5 * h, 2 * x - 0.5 * h))
    candidate = math.tanh(3 * x + 2 * (reset * h))
    stepped = unit(unit.of_input(torch.tensor([[x]])), torch.tensor([[h]]))
    assert stepped.item() == pytest.approx(update * h + (1 - update) * candidate, abs=1e-6)


def test_reset_is_before_the_product() -> None:
    """torch's GRU resets after it: with more than one unit the two differ."""
    torch.manual_seed(1)
    unit, after = GatedUnit(2, 3), torch.nn.GRUCell(2, 3)
    with torch.no_grad():
        after.weight_ih.copy_(unit.of_input.weight)
        after.bias_ih.copy_(unit.of_input.bias)
        after.weight_hh.copy_(torch.cat([unit.of_gates.weight, unit.of_candidate.weight]))
        after.bias_hh.zero_()
    x, h = torch.randn(4, 2), torch.randn(4, 3)
    assert not torch.allclose(unit(unit.of_input(x), h), after(x, h))
    with torch.no_grad():  # with a diagonal product, resetting before or after is the same
        unit.of_candidate.weight.copy_(torch.eye(3))
        after.weight_hh[6:] = torch.eye(3)
    torch.testing.assert_close(unit(unit.of_input(x), h), after(x, h))


@pytest.mark.parametrize("backwards", [False, True])
def test_padding_leaves_the_state_as_it_was(backwards: bool) -> None:
    torch.manual_seed(1)
    recurrence = Recurrence(2, 3, backwards=backwards)
    inputs = torch.randn(1, 5, 2)
    states, last = recurrence(inputs[:, :3], torch.ones(1, 3, dtype=torch.bool))
    padded, after_padding = recurrence(inputs, torch.tensor([[True, True, True, False, False]]))
    torch.testing.assert_close(padded[:, :3], states)
    torch.testing.assert_close(after_padding, last)
    torch.testing.assert_close(last, states[:, 0] if backwards else states[:, -1])


@pytest.mark.parametrize("layers", [1, 2])
def test_the_encoder_gives_both_directions_and_the_last_state(layers: int) -> None:
    torch.manual_seed(1)
    inputs, readable = torch.randn(2, 4, 2), torch.tensor([[True] * 4, [True, True, False, False]])
    both = RecurrentEncoder(2, 3, layers=layers)
    annotations, last = both(inputs, readable)
    assert annotations.shape == (2, 4, 6) and both.out == 6
    torch.testing.assert_close(last, annotations[:, 0, 3:])  # the backward state at the first word
    forwards = RecurrentEncoder(2, 3, layers=layers, bidirectional=False)
    annotations, last = forwards(inputs, readable)
    assert annotations.shape == (2, 4, 3) and forwards.out == 3
    torch.testing.assert_close(last, torch.stack([annotations[0, 3], annotations[1, 1]]))


def test_maxout_takes_the_larger_of_each_pair() -> None:
    assert Maxout()(torch.tensor([[1.0, 2.0, 5.0, -3.0]])).tolist() == [[2.0, 5.0]]
