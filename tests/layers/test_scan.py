"""A scan equals the steps of its unit: outputs, last states and gradients, for every cell, direction and padding."""

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from saccade.layers import recurrent
from saccade.layers.recurrent import SCANS, UNITS, Cell, GatedUnit, RecurrentUnit
from saccade.layers.scan import why_not_scanned

each_cell = pytest.mark.parametrize("cell", get_args(Cell))


def run(
    unit: RecurrentUnit, inputs: Tensor, state: Tensor, readable: Tensor | None, backwards: bool, *, scanned: bool
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """h, the last state, and the gradients of a loss that reads both"""
    with pytest.MonkeyPatch.context() as patch:
        if not scanned:
            patch.setattr(recurrent, "why_not_scanned", lambda kind: "the plain path")
        outputs, last = unit.run(unit.of_input(inputs), state, readable, backwards=backwards)
    loss = (
        outputs * torch.linspace(-1, 1, outputs.numel(), device=outputs.device).view_as(outputs)
    ).sum() + last.square().sum()
    return outputs, last, torch.autograd.grad(loss, [inputs, state, *unit.parameters()])


def drawn(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=dtype, requires_grad=True)


@settings(deadline=None, max_examples=60)
@given(
    cell=st.sampled_from(get_args(Cell)),
    lengths=st.one_of(st.none(), st.lists(st.integers(0, 4), min_size=2, max_size=2)),
    backwards=st.booleans(),
    steps=st.integers(1, 4),
)
def test_a_scan_equals_its_steps(cell: Cell, lengths: list[int] | None, backwards: bool, steps: int) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](2, 3).double()
    readable = None if lengths is None else torch.arange(steps) < torch.tensor(lengths)[:, None]
    inputs, state = drawn(2, steps, 2), drawn(2, unit.size)
    torch.testing.assert_close(
        run(unit, inputs, state, readable, backwards, scanned=True),
        run(unit, inputs, state, readable, backwards, scanned=False),
    )


@each_cell
def test_gradients_are_the_derivatives(cell: Cell) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](2, 2).double()
    readable = torch.tensor([[True, True, True], [True, False, False]])

    def of(projected: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        return unit.run(projected, state, readable)

    assert torch.autograd.gradcheck(of, (drawn(2, 3, unit.projected), drawn(2, unit.size)))


@each_cell
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_mixed_precision_stays_near(cell: Cell, device: str) -> None:
    torch.manual_seed(1)
    unit = UNITS[cell](4, 8).to(device)
    inputs, state = (torch.randn(shape, device=device, requires_grad=True) for shape in ((3, 5, 4), (3, unit.size)))
    readable = (torch.arange(5) < torch.tensor([[5], [2], [0]])).to(device)
    exact = run(unit, inputs, state, readable, False, scanned=False)
    with torch.autocast(device, torch.bfloat16):
        near = run(unit, inputs, state, readable, False, scanned=True)
    assert near[1].dtype == torch.float32  # a state is added to at every step
    torch.testing.assert_close(near[0].float(), exact[0], rtol=0.05, atol=0.05)
    torch.testing.assert_close(near[1:], exact[1:], rtol=0.1, atol=0.1)


@each_cell
def test_nothing_is_kept_where_no_gradient_is_needed(cell: Cell) -> None:
    unit = UNITS[cell](2, 3)
    with torch.no_grad():
        outputs, last = unit.run(torch.randn(2, 4, unit.projected), torch.zeros(2, unit.size))
    assert outputs.grad_fn is None and last.grad_fn is None
    torch.testing.assert_close(unit.read(last), outputs[:, -1])


def test_a_frozen_unit_passes_gradients_on() -> None:
    unit = GatedUnit(2, 3)
    unit.requires_grad_(False)
    inputs = torch.randn(2, 4, 2, requires_grad=True)
    unit.run(unit.of_input(inputs), torch.zeros(2, 3))[0].sum().backward()  # type: ignore[no-untyped-call]
    assert inputs.grad is not None and unit.of_gates.weight.grad is None


class OtherUnit(GatedUnit):
    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        return state + 1


def test_a_unit_with_other_equations_runs_its_own_steps() -> None:
    outputs, _ = OtherUnit(2, 3).run(torch.zeros(1, 2, 9), torch.zeros(1, 3))
    assert outputs[0, :, 0].tolist() == [1.0, 2.0]
    assert why_not_scanned(SCANS.get(OtherUnit)) == "the unit has no derivative of its own"
    assert all(isinstance(layer, nn.Linear) for layer in GatedUnit(2, 3).recurrent_layers())
