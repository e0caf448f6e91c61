"""The steps of a unit in a decoder's loop: its own steps, for values and gradients."""

import gc
from typing import get_args

import pytest
import torch
from torch import Tensor

from saccade.layers import recurrent
from saccade.layers.late_gradients import late_gradients
from saccade.layers.recurrent import UNITS, Cell, RecurrentUnit

each_cell = pytest.mark.parametrize("cell", get_args(Cell))
STEPS = 3


@pytest.fixture(autouse=True)
def on_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps with torch's kernels"""
    monkeypatch.setattr(recurrent, "why_not_fused", lambda kind, projected: None)


def run(unit: RecurrentUnit, steps: Tensor, state: Tensor, loop: int) -> Tensor:
    """h and the state after each step; h is also read by the next input, as by an attention."""
    results = []
    with late_gradients(loop):
        for projected in steps:
            state = unit.advance(projected + 0.1 * unit.output(state).sum(-1, keepdim=True), state)
            results.append(torch.cat([unit.output(state), state], -1))
        results.append(torch.cat([unit.output(state)] * (1 + unit.parts), -1))
    return torch.stack(results)


def gradients(unit: RecurrentUnit, steps: Tensor, state: Tensor, loop: int) -> tuple[Tensor, ...]:
    states = run(unit, steps, state, loop)
    loss = (states.float() * torch.linspace(-1, 1, states.numel(), device=states.device).view_as(states)).sum()
    weights = [layer.weight for layer in unit.recurrent_layers()]
    torch.autograd.grad(loss, [steps], retain_graph=True)  # leaves nothing behind
    return states, *torch.autograd.grad(loss, [steps, state, *weights])


def draw(cell: Cell, width: int, **kind: torch.dtype | str) -> tuple[RecurrentUnit, Tensor, Tensor]:
    torch.manual_seed(1)
    unit = UNITS[cell](2, width).to(**kind)
    shapes = (STEPS, 4, unit.projected), (4, unit.size)
    steps, state = (torch.randn(shape, **kind, requires_grad=True) for shape in shapes)  # type: ignore[arg-type]
    return unit, steps, state


@each_cell
@pytest.mark.parametrize("loop", [2, STEPS, STEPS + 2])
def test_steps_equal_the_units_own(cell: Cell, loop: int) -> None:
    drawn = draw(cell, 3, dtype=torch.float64)
    torch.testing.assert_close(gradients(*drawn, loop), gradients(*drawn, 1))


@pytest.mark.gpu
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("width", [3, 300])
def test_fused_steps_equal_the_units_own(cell: Cell, width: int) -> None:
    drawn = draw(cell, width, device="cuda")
    torch.testing.assert_close(gradients(*drawn, STEPS), gradients(*drawn, 1), rtol=1e-4, atol=5e-5)


@each_cell
def test_gradients_are_the_derivatives(cell: Cell) -> None:
    unit, steps, state = draw(cell, 2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *inputs: run(unit, *inputs, STEPS), (steps, state))


def test_a_frozen_unit_passes_gradients_on() -> None:
    unit, steps, state = draw("gru", 3)
    unit.requires_grad_(False)
    run(unit, steps, state, STEPS).sum().backward()  # type: ignore[no-untyped-call]
    assert steps.grad is not None and all(weight.grad is None for weight in unit.parameters())


@pytest.mark.parametrize("cell", [pytest.param("tanh", marks=pytest.mark.slow), "gru", "lstm"])
def test_finished_steps_are_freed(cell: Cell) -> None:
    drawn = draw(cell, 3)

    def tensors_after_a_loop() -> int:
        run(*drawn, STEPS).sum().backward()  # type: ignore[no-untyped-call]
        gc.collect()
        return sum(type(thing) is Tensor for thing in gc.get_objects())

    assert tensors_after_a_loop() == tensors_after_a_loop()


def test_a_step_of_another_size_is_the_units_own() -> None:
    unit, steps, state = draw("gru", 3)
    with late_gradients(STEPS):
        unit.advance(steps[0], state)
        torch.testing.assert_close(unit.advance(steps[1, :2], state[:2]), unit(steps[1, :2], state[:2]))
