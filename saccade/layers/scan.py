"""A recurrence over a padded sentence as one operation, with its derivative written out.

It needs about half as many kernels as the units' own steps, and the gradient of each recurrent matrix is one product
for all steps: dU = Σ_t g_tᵀ x_t. The equations are those of `saccade.layers.recurrent`; their results differ only in
rounding. A fused kernel for all steps would take the place of `_Scan`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Kept = tuple[Tensor, ...]  # what the derivative of one step needs; first the inputs of the recurrent matrices


class CellScan(ABC):
    """One step of a unit, and its derivative, for recurrent matrices in the precision of their products."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self.weights = weights
        self.width = weights[0].shape[1]

    @abstractmethod
    def step(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Kept]:
        """projected (B, gates·width), state (B, size) → the new state"""

    @abstractmethod
    def derive(self, of_state: Tensor, kept: Kept, of_projected: Tensor) -> Tensor:
        """The gradient of a step's new state → that of its old one; `of_projected` (B, gates·width) is written."""


class TanhScan(CellScan):
    def step(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Kept]:
        (weight,) = self.weights
        inputs = state.to(weight.dtype)
        new = torch.addmm(projected, inputs, weight.t()).tanh_()
        return new.to(state.dtype), (inputs, new)

    def derive(self, of_state: Tensor, kept: Kept, of_projected: Tensor) -> Tensor:
        _, new = kept
        _of_tanh(of_state, new, of_projected)
        return of_projected @ self.weights[0]


class GatedScan(CellScan):
    def step(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Kept]:
        of_gates, of_candidate = self.weights
        inputs, two = state.to(of_gates.dtype), 2 * self.width
        gates = torch.addmm(projected[:, :two], inputs, of_gates.t()).sigmoid_()
        reset, update = gates.chunk(2, -1)
        past = (reset * state).to(of_candidate.dtype)
        candidate = torch.addmm(projected[:, two:], past, of_candidate.t()).tanh_()
        change = state - candidate
        return torch.addcmul(candidate, update, change), (inputs, past, state, gates, candidate, change)

    def derive(self, of_state: Tensor, kept: Kept, of_projected: Tensor) -> Tensor:
        of_gates, of_candidate = self.weights
        _, _, state, gates, candidate, change = kept
        reset, update = gates.chunk(2, -1)
        of_reset, of_update, into_candidate = of_projected.chunk(3, -1)
        of_old = of_state * update
        _of_tanh(of_state - of_old, candidate, into_candidate)
        of_past = into_candidate @ of_candidate
        torch.mul(of_past, state, out=of_reset)
        torch.mul(of_state, change, out=of_update)
        into_gates = of_projected[:, : 2 * self.width]
        _of_sigmoid(into_gates, gates, into_gates)
        return of_old.addcmul_(of_past, reset).add_(into_gates @ of_gates)


class LongShortTermScan(CellScan):
    def step(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Kept]:
        (weight,) = self.weights
        output, cell = state.chunk(2, -1)
        inputs, three = output.to(weight.dtype), 3 * self.width
        gates = torch.addmm(projected, inputs, weight.t())
        gates[:, :three].sigmoid_()
        gates[:, three:].tanh_()
        forget, enter, leave, candidate = gates.chunk(4, -1)
        moved = torch.addcmul(forget * cell, enter, candidate)
        bounded = torch.tanh(moved)
        return torch.cat([leave * bounded, moved], -1), (inputs, cell, gates, bounded)

    def derive(self, of_state: Tensor, kept: Kept, of_projected: Tensor) -> Tensor:
        (weight,) = self.weights
        _, cell, gates, bounded = kept
        forget, enter, leave, candidate = gates.chunk(4, -1)
        of_output, of_cell = of_state.chunk(2, -1)
        of_cell = of_cell + torch.ops.aten.tanh_backward(of_output * leave, bounded)
        of_forget, of_enter, of_leave, of_candidate = of_projected.chunk(4, -1)
        torch.mul(of_cell, cell, out=of_forget)
        torch.mul(of_cell, candidate, out=of_enter)
        torch.mul(of_output, bounded, out=of_leave)
        torch.mul(of_cell, enter, out=of_candidate)
        three = 3 * self.width
        into_gates = of_projected[:, :three]
        _of_sigmoid(into_gates, gates[:, :three], into_gates)
        _of_tanh(of_candidate, candidate, of_candidate)
        return torch.cat([of_projected @ weight, of_cell * forget], -1)


def _of_tanh(of_output: Tensor, output: Tensor, of_input: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(of_output, output, grad_input=of_input)


def _of_sigmoid(of_output: Tensor, output: Tensor, of_input: Tensor) -> None:
    torch.ops.aten.sigmoid_backward.grad_input(of_output, output, grad_input=of_input)


def why_not_scanned(kind: type[CellScan] | None) -> str | None:
    """The reason why a unit's own steps run, or None if the scan does."""
    if kind is None:
        return "the unit has no derivative of its own"
    if torch.compiler.is_compiling():
        return "the model is compiled"
    return None


def scan(
    kind: type[CellScan],
    projected: Tensor,  # (B, S, gates·width)
    state: Tensor,  # (B, size)
    weights: Sequence[Tensor],
    readable: Tensor | None,  # (B, S)
    padded: Sequence[bool],  # whether any sentence is padded at each step
    *,
    backwards: bool,
) -> tuple[Tensor, Tensor]:
    """→ h (B, S, width), the last state. Padding does not change the state."""
    low = [weight.to(projected.dtype) for weight in weights]  # under autocast, half precision
    scanned = _Scan.apply(kind, projected, state, readable, padded, backwards, *low)  # type: ignore[no-untyped-call]
    return cast(tuple[Tensor, Tensor], scanned)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kind: type[CellScan],
        projected: Tensor,
        state: Tensor,
        readable: Tensor | None,
        padded: Sequence[bool],
        backwards: bool,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor]:
        cell = kind(weights)
        steps, keep = projected.unbind(1), () if readable is None else readable[..., None].unbind(1)
        order = list(reversed(range(len(steps))) if backwards else range(len(steps)))
        outputs, kept = [state] * len(steps), []
        for s in order:
            new, needed = cell.step(steps[s], state)
            state = torch.where(keep[s], new, state) if padded[s] else new
            outputs[s] = state[:, : cell.width]
            if any(ctx.needs_input_grad):
                kept.append(needed)
        ctx.kind, ctx.order, ctx.padded, ctx.shape = kind, order, padded, projected.shape
        ctx.counts = [len(kept), len(kept[0]) if kept else 0]
        ctx.save_for_backward(readable, *weights, *(tensor for needed in kept for tensor in needed))
        return torch.stack(outputs, 1), state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor, of_state: Tensor) -> tuple[Tensor | None, ...]:
        steps, each = ctx.counts
        readable, *rest = ctx.saved_tensors
        weights, flat = rest[: len(rest) - steps * each], rest[len(rest) - steps * each :]
        kept = [tuple(flat[n * each : (n + 1) * each]) for n in range(steps)]
        cell = ctx.kind(weights)
        of_steps = of_outputs.unbind(1)
        of_projected = weights[0].new_empty(steps, ctx.shape[0], ctx.shape[2])  # in the order of the scan
        of_state = of_state.clone()
        closed = of_state.new_empty(0) if readable is None else ~readable[..., None]
        for n in reversed(range(steps)):
            s = ctx.order[n]
            of_state[:, : cell.width].add_(of_steps[s])
            if ctx.padded[s]:
                moved = cell.derive(of_state.masked_fill(closed[:, s], 0.0), kept[n], of_projected[n])
                of_state = torch.where(closed[:, s], of_state, moved.to(of_state.dtype))
            else:
                of_state = cell.derive(of_state, kept[n], of_projected[n]).to(of_state.dtype)
        of_weights, first = [], 0
        for number, weight in enumerate(weights):
            gradients = of_projected[..., first : first + weight.shape[0]].flatten(0, 1)
            of_weights.append(gradients.t() @ torch.cat([needed[number] for needed in kept]))
            first += weight.shape[0]
        by_place = of_projected.flip(0) if ctx.order and ctx.order[0] else of_projected
        return None, by_place.transpose(0, 1), of_state, None, None, None, *of_weights
