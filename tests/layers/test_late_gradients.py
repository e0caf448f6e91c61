"""Weight gradients that are computed at the end equal those that are added up step by step."""

import gc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from saccade.layers.late_gradients import late_gradients

STEPS = 3


class Loop(nn.Module):
    """s_t = tanh(W x_t + b + U s_{t−1}); the last layer is applied twice per step, and one input has another shape."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.of_input, self.of_state = nn.Linear(2, 4, dtype=dtype), nn.Linear(4, 4, bias=False, dtype=dtype)

    def forward(self, inputs: Tensor, late: Callable[[], object]) -> Tensor:
        state, outputs = inputs.new_zeros(inputs.shape[1], 4), []
        with late():  # type: ignore[attr-defined]
            for step in inputs:
                state = torch.tanh(self.of_input(step) + self.of_state(self.of_state(state)))
                outputs.append(state)
            outputs.append(self.of_state(state[:1]))
        return torch.cat(outputs)


def gradients(model: Loop, inputs: Tensor, late: Callable[[], object], times: int = 1) -> list[Tensor]:
    outputs = model(inputs, late).float()
    direction = torch.linspace(-1, 1, outputs.numel()).view_as(outputs)
    for _ in range(times):
        learnt = [inputs, *model.parameters()]
        found = torch.autograd.grad(outputs, learnt, direction, retain_graph=True)
    return list(found)


def never() -> object:
    return late_gradients(1)


@pytest.mark.parametrize("steps", [2, STEPS, 2 * STEPS, 10])
def test_late_gradients_equal_those_of_each_step(steps: int) -> None:
    torch.manual_seed(1)
    model, inputs = Loop(torch.float64), torch.randn(STEPS, 5, 2, dtype=torch.float64, requires_grad=True)
    expected = gradients(model, inputs, never)
    torch.testing.assert_close(gradients(model, inputs, lambda: late_gradients(steps)), expected)
    torch.testing.assert_close(gradients(model, inputs, lambda: late_gradients(steps), times=2), expected)


def test_gradients_of_the_inputs_alone_leave_nothing_behind() -> None:
    torch.manual_seed(1)
    model, inputs = Loop(torch.float64), torch.randn(STEPS, 5, 2, dtype=torch.float64, requires_grad=True)
    outputs = model(inputs, lambda: late_gradients(STEPS)).sum()
    torch.autograd.grad(outputs, inputs, retain_graph=True)
    torch.testing.assert_close(
        torch.autograd.grad(outputs, list(model.parameters())),
        torch.autograd.grad(model(inputs, never).sum(), list(model.parameters())),
    )


def test_frozen_layers_have_no_gradient() -> None:
    model, inputs = Loop(torch.float32), torch.randn(STEPS, 5, 2)
    model.of_input.requires_grad_(False)
    model(inputs, lambda: late_gradients(STEPS)).sum().backward()
    assert model.of_input.weight.grad is None and model.of_state.weight.grad is not None


def test_mixed_precision_stays_near() -> None:
    torch.manual_seed(1)
    model, inputs = Loop(torch.float32), torch.randn(STEPS, 5, 2, requires_grad=True)
    exact = gradients(model, inputs, never)
    with torch.autocast("cpu", torch.bfloat16):
        near = gradients(model, inputs, lambda: late_gradients(STEPS))
    for one, other in zip(near, exact, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.05)


def test_a_finished_step_is_freed() -> None:
    """What the last node keeps must not lead back to it."""
    model, inputs = Loop(torch.float32), torch.randn(STEPS, 5, 2)

    def tensors_after_a_step() -> int:
        model(inputs, lambda: late_gradients(STEPS)).sum().backward()
        gc.collect()
        return sum(type(thing) is Tensor for thing in gc.get_objects())

    assert tensors_after_a_step() == tensors_after_a_step()


def test_nothing_changes_where_no_gradient_is_needed() -> None:
    model, inputs = Loop(torch.float32), torch.randn(STEPS, 5, 2)
    with torch.no_grad():
        assert torch.equal(model(inputs, lambda: late_gradients(STEPS)), model(inputs, never))
