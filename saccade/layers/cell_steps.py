"""One step of a unit in a decoder's loop, with the derivative of `scan.py`. The gradient of a recurrent matrix is one
product for all steps, as in a scan.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.layers.scan import CellScan, Kept, add_product, make_cell
from saccade.loops import StepRecord, make_slots


class CellSteps:
    """The steps of one unit in one loop: `state = steps(projected, state)`, then `steps.output_of(state)`."""

    def __init__(self, kind: type[CellScan], weights: Sequence[Tensor], projected: Tensor, steps: int) -> None:
        low = [weight.to(projected.dtype) for weight in weights]
        self.record = _Inputs(make_cell(kind, [weight.detach() for weight in low], projected))
        self.shape = projected.shape
        self.slots = make_slots(self.record, low, [((steps, *projected.shape), projected.dtype)])

    def fits(self, projected: Tensor) -> bool:
        """Whether there is room for a step."""
        return bool(self.slots) and projected.shape == self.shape

    def __call__(self, projected: Tensor, state: Tensor) -> Tensor:
        step = _Step.apply(self.record, projected, state, *self.slots.pop())  # type: ignore[no-untyped-call]
        self.last = cast(tuple[Tensor, Tensor], step)  # the state, and its h
        return self.last[0]

    def output_of(self, state: Tensor) -> Tensor | None:
        """h of the last step's state, in the precision of the products that read it; None: of another state"""
        return self.last[1] if self.last[0] is state else None


class _Inputs(StepRecord):
    """The unit, and the inputs of its recurrent matrices so far"""

    def __init__(self, cell: CellScan) -> None:
        self.cell = cell
        self.inputs: list[Kept] = []

    def of_shared(self, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_projected = gradients[0][: len(self.inputs)]
        return tuple(self.cell.of_weights(of_projected, list(zip(*self.inputs, strict=True))))


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, record: _Inputs, projected: Tensor, state: Tensor, slot: Tensor) -> tuple[Tensor, Tensor]:
        new, kept = record.cell.move(projected, state, None)
        ctx.set_materialize_grads(False)
        ctx.cell, ctx.shape, ctx.dtype = record.cell, state.shape, state.dtype
        record.inputs.append(tuple(needed.detach() for needed in kept[: len(record.cell.weights)]))
        ctx.save_for_backward(*kept)
        return new, record.cell.narrow(new).detach()  # the cell keeps it for the next step

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_state: Tensor | None, of_output: Tensor | None) -> tuple[Tensor | None, ...]:
        cell: CellScan = ctx.cell
        of_state = cell.weights[0].new_zeros(ctx.shape, dtype=ctx.dtype) if of_state is None else of_state
        of_projected = cell.weights[0].new_empty(len(of_state), sum(len(weight) for weight in cell.weights))
        old, product = cell.move_back(of_state, None, of_output, ctx.saved_tensors, None, of_projected)
        return None, of_projected, add_product(old, product), of_projected
