import math
from typing import get_args

import pytest
import torch

from saccade.layers.recurrent import (
    UNITS,
    Cell,
    FirstState,
    GatedUnit,
    LongShortTermUnit,
    Maxout,
    Recurrence,
    RecurrentEncoder,
    Stack,
    TanhUnit,
)

each_cell = pytest.mark.parametrize("cell", get_args(Cell))


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_gated_unit_by_hand() -> None:
    unit = GatedUnit(1, 1)
    with torch.no_grad():
        unit.of_input.weight.copy_(torch.tensor([[1.0], [2.0], [3.0]]))  # reset, update, candidate
        unit.of_input.bias.zero_()
        unit.of_gates.weight.copy_(torch.tensor([[0.5], [-0.5]]))
        unit.of_candidate.weight.fill_(2.0)
    x, h = 0.1, 0.4
    reset, update = sigma(1 * x + 0.5 * h), sigma(2 * x - 0.5 * h)
    candidate = math.tanh(3 * x + 2 * (reset * h))
    stepped = unit(unit.of_input(torch.tensor([[x]])), torch.tensor([[h]]))
    assert stepped.item() == pytest.approx(update * h + (1 - update) * candidate, abs=1e-6)


def test_the_long_short_term_unit_by_hand() -> None:
    unit = LongShortTermUnit(1, 1)
    with torch.no_grad():
        unit.of_input.weight.copy_(torch.tensor([[1.0], [2.0], [-3.0], [0.5]]))  # forget, in, out, candidate
        unit.of_input.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0]))
        unit.of_state.weight.copy_(torch.tensor([[0.5], [-0.5], [2.0], [3.0]]))
    x, h, c = 0.1, 0.4, -0.7
    kept, entered = sigma(1 * x + 1 + 0.5 * h) * c, sigma(2 * x - 0.5 * h) * math.tanh(0.5 * x + 3 * h)
    cell = kept + entered
    stepped = unit(unit.of_input(torch.tensor([[x]])), torch.tensor([[h, c]]))
    assert stepped.tolist()[0] == pytest.approx([sigma(-3 * x + 2 * h) * math.tanh(cell), cell], abs=1e-6)
    assert unit.read(stepped).tolist() == stepped[:, :1].tolist()


def test_tanh_unit_equals_torch() -> None:
    torch.manual_seed(1)
    unit, theirs = TanhUnit(2, 3), torch.nn.RNNCell(2, 3)
    with torch.no_grad():
        theirs.weight_ih.copy_(unit.of_input.weight)
        theirs.weight_hh.copy_(unit.of_state.weight)
        theirs.bias_ih.copy_(unit.of_input.bias)
        theirs.bias_hh.zero_()
    x, h = torch.randn(4, 2), torch.randn(4, 3)
    torch.testing.assert_close(unit(unit.of_input(x), h), theirs(x, h))


def test_lstm_unit_equals_torch() -> None:
    torch.manual_seed(1)
    unit, theirs = LongShortTermUnit(2, 3), torch.nn.LSTMCell(2, 3)
    order = torch.tensor([1, 0, 3, 2])  # torch's gates are in, forget, candidate, out

    def theirs_of(ours: torch.Tensor) -> torch.Tensor:
        return ours.unflatten(0, (4, 3))[order].flatten(0, 1)

    with torch.no_grad():
        theirs.weight_ih.copy_(theirs_of(unit.of_input.weight))
        theirs.weight_hh.copy_(theirs_of(unit.of_state.weight))
        theirs.bias_ih.copy_(theirs_of(unit.of_input.bias))
        theirs.bias_hh.zero_()
    x, h, c = torch.randn(4, 2), torch.randn(4, 3), torch.randn(4, 3)
    stepped = unit(unit.of_input(x), torch.cat([h, c], -1))
    torch.testing.assert_close(stepped, torch.cat(theirs(x, (h, c)), -1))


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


@each_cell
def test_the_first_weights_of_a_unit(cell: Cell) -> None:
    """Each gate's recurrent matrix is orthogonal; an LSTM forgets little at first."""
    unit = UNITS[cell](2, 5)
    recurrent = [p for name, p in unit.named_parameters() if name != "of_input.weight" and p.dim() == 2]
    for gate in torch.cat(recurrent).detach().split(5):
        torch.testing.assert_close(gate @ gate.T, torch.eye(5))
    if cell == "lstm":
        assert unit.of_input.bias[:5].tolist() == [1.0] * 5
        assert unit.of_input.bias[5:].abs().max() < 1


@each_cell
@pytest.mark.parametrize("backwards", [False, True])
def test_padding_does_not_change_the_state(cell: Cell, backwards: bool) -> None:
    torch.manual_seed(1)
    recurrence = Recurrence(cell, 2, 3, backwards=backwards)
    inputs = torch.randn(1, 5, 2)
    states, last = recurrence(inputs[:, :3], torch.ones(1, 3, dtype=torch.bool))
    padded, after_padding = recurrence(inputs, torch.tensor([[True, True, True, False, False]]))
    torch.testing.assert_close(padded[:, :3], states)
    torch.testing.assert_close(after_padding, last)
    torch.testing.assert_close(recurrence.unit.read(last), states[:, 0] if backwards else states[:, -1])


@each_cell
def test_empty_sentence_keeps_the_first_state(cell: Cell) -> None:
    recurrence = Recurrence(cell, 2, 3)
    states, last = recurrence(torch.randn(4, 0, 2), torch.ones(4, 0, dtype=torch.bool))
    assert states.shape == (4, 0, 3) and last.shape == (4, recurrence.unit.size) and not last.any()


@each_cell
@pytest.mark.parametrize("layers", [1, 2])
def test_the_encoder_gives_annotations_and_the_states_at_its_ends(cell: Cell, layers: int) -> None:
    torch.manual_seed(1)
    inputs, readable = torch.randn(2, 4, 2), torch.tensor([[True] * 4, [True, True, False, False]])
    both = RecurrentEncoder(cell, 2, 3, layers=layers)
    annotations, ends = both(inputs, readable)
    assert annotations.shape == (2, 4, 6) and both.out == 6 and len(ends) == layers
    there = torch.stack([annotations[0, 3, :3], annotations[1, 1, :3]])  # forwards, at the last word
    read = UNITS[cell].read(ends[-1])
    torch.testing.assert_close(read, torch.cat([there, annotations[:, 0, 3:]], -1))  # backwards, at the first
    for backwards in (False, True):
        one = RecurrentEncoder(cell, 2, 3, layers=layers, bidirectional=False, backwards=backwards)
        annotations, ends = one(inputs, readable)
        assert annotations.shape == (2, 4, 3) and one.out == 3
        last = annotations[:, 0] if backwards else torch.stack([annotations[0, 3], annotations[1, 1]])
        torch.testing.assert_close(UNITS[cell].read(ends[-1]), last)


def test_states_of_two_directions_are_one_state_side_by_side() -> None:
    torch.manual_seed(1)
    encoder = RecurrentEncoder("lstm", 2, 3)
    inputs, readable = torch.randn(2, 4, 2), torch.ones(2, 4, dtype=torch.bool)
    _, (end,) = encoder(inputs, readable)
    (_, there), (_, back) = (recurrence(inputs, readable) for recurrence in encoder.layers[0])
    torch.testing.assert_close(end, torch.cat([there[:, :3], back[:, :3], there[:, 3:], back[:, 3:]], -1))


def test_first_state_is_from_the_last_the_mean_or_zero() -> None:
    torch.manual_seed(1)
    last, annotations = torch.randn(3, 2), torch.randn(3, 4, 5)
    readable = torch.arange(4) < torch.tensor([[2], [4], [0]])
    assert not FirstState("zero", 6, last=2, annotation=5)(last, annotations, readable).any()
    of_last, of_mean = (FirstState(how, 6, last=2, annotation=5) for how in ("last", "mean"))
    torch.testing.assert_close(of_last(last, annotations, readable), torch.tanh(of_last.of_source(last)))
    means = torch.stack([annotations[0, :2].mean(0), annotations[1].mean(0), torch.zeros(5)])
    torch.testing.assert_close(of_mean(last, annotations, readable), torch.tanh(of_mean.of_source(means)))


@each_cell
def test_stack_over_a_sentence_equals_its_steps(cell: Cell) -> None:
    torch.manual_seed(1)
    stack = Stack(cell, 2, 3, layers=3, first="mean", annotation=4, dropout=0.0)
    annotations, readable = torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)
    states = stack.start((annotations[:, 0],), annotations, readable)
    assert [state.shape for state in states] == [(2, stack.lowest.size)] * 3
    inputs = torch.randn(2, 4, 2)
    whole = stack(inputs, states)
    for t in range(4):
        output, states = stack.step(stack.lowest.of_input(inputs[:, t]), states)
        torch.testing.assert_close(output, whole[:, t])


def test_maxout_takes_the_larger_of_each_pair() -> None:
    assert Maxout()(torch.tensor([[1.0, 2.0, 5.0, -3.0]])).tolist() == [[2.0, 5.0]]
