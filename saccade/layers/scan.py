"""A recurrence over a padded sentence as one operation, with its derivative written out.

It needs about half as many kernels as the units' own steps, and the gradient of each recurrent matrix is one product
for all steps: dU = Σ_t g_tᵀ x_t. The equations are those of `saccade.layers.recurrent`; their results differ only in
rounding. On CUDA, one Triton kernel computes all that lies between two products (`scan_triton.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.device import has_triton

Kept = tuple[Tensor, ...]  # what the derivative of one step needs; first the inputs of the recurrent matrices


class CellScan(ABC):
    """One step of a unit, and its derivative, for recurrent matrices in the precision of their products."""

    def __init__(self, weights: Sequence[Tensor]) -> None:
        self.weights = weights  # (outputs, width), or of several lanes (lanes, outputs, width)
        self.width = weights[0].shape[-1]

    @abstractmethod
    def step(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Kept]:
        """projected (B, gates·width), state (B, size) → the new state"""

    @abstractmethod
    def derive(self, of_state: Tensor, kept: Kept, of_projected: Tensor) -> Tensor:
        """The gradient of a step's new state → that of its old one; `of_projected` (B, gates·width) is written."""

    def narrow(self, state: Tensor) -> Tensor:
        """h (B, width) of a state in the precision of the products, in memory of its own"""
        return state[:, : self.width].to(self.weights[0].dtype, copy=True)

    def move(self, projected: Tensor, state: Tensor, keep: Tensor | None) -> tuple[Tensor, Kept]:
        """`step`, after which sentences keep their old state where `keep` (B, 1) is False."""
        new, kept = self.step(projected, state)
        return new if keep is None else torch.where(keep, new, state), kept

    def move_back(
        self,
        of_state: Tensor,  # (B, size): the gradient of the new state is the sum of this …
        product: Tensor | None,  # … and, in its first `width` columns, of this, which the step after left to be added …
        of_output: Tensor | None,  # … and of this, from whatever else reads h
        kept: Kept,
        keep: Tensor | None,
        of_projected: Tensor,  # (B, gates·width), written
    ) -> tuple[Tensor, Tensor | None]:
        """The derivative of `move` → `of_state` and `product` of the old state"""
        assert product is None  # `derive` leaves none
        if of_output is not None:
            of_state = of_state.clone()
            of_state[:, : self.width].add_(of_output)
        if keep is None:
            return self.derive(of_state, kept, of_projected).to(of_state.dtype), None
        moved = self.derive(of_state.masked_fill(~keep, 0.0), kept, of_projected)
        return torch.where(keep, moved.to(of_state.dtype), of_state), None

    def of_weights(self, of_projected: Tensor, inputs: Sequence[Sequence[Tensor]]) -> list[Tensor]:
        """dU = Σ_t g_tᵀ x_t of each recurrent matrix: of_projected (steps, B, gates·width), and its inputs (B, width)
        at each of these steps
        """
        gradients, first = [], 0
        for weight, steps in zip(self.weights, inputs, strict=True):
            of_outputs = of_projected[..., first : first + weight.shape[-2]]
            of_rows, rows = (_by_lane(x, weight) for x in (of_outputs, torch.stack(list(steps))))
            gradients.append(of_rows.mT @ rows)
            first += weight.shape[-2]
        return gradients


def multiply(rows: Tensor, weight: Tensor) -> Tensor:
    """(B, n) · (n, m), or for each lane some of the rows: (lanes, n, m)"""
    return rows @ weight if weight.dim() == 2 else (torch.unflatten(rows, 0, (len(weight), -1)) @ weight).flatten(0, 1)


def _by_lane(steps: Tensor, weight: Tensor) -> Tensor:
    """(T, B, n) → (T·B, n), or the rows of each lane: (lanes, T·B/lanes, n)"""
    if weight.dim() == 2:
        return steps.flatten(0, 1)
    return torch.unflatten(steps, 1, (len(weight), -1)).transpose(0, 1).flatten(1, 2)


def add_product(of_state: Tensor, product: Tensor | None) -> Tensor:
    """The whole gradient of a state (B, size), which is written, from that of its h (B, width) by a product"""
    if product is not None:
        of_state[:, : product.shape[-1]].add_(product)
    return of_state


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


def why_not_fused(kind: type[CellScan] | None, projected: Tensor) -> str | None:
    """The reason why torch's kernels compute a unit's steps, or None."""
    if not projected.is_cuda:
        return f"the device is {projected.device.type}"
    if kind not in (GatedScan, LongShortTermScan) or projected.dtype == torch.float64 or not has_triton():
        return "there is no kernel for it"
    return None


def make_cell(kind: type[CellScan], weights: Sequence[Tensor], projected: Tensor) -> CellScan:
    """The unit's equations by the fastest kernels that there are for such inputs."""
    if why_not_fused(kind, projected) is None:
        from saccade.layers.scan_triton import FUSED

        kind = FUSED[kind]
    return kind(weights)


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


def scan_both(
    kind: type[CellScan],
    projected: Sequence[Tensor],  # (B, S, gates·width) of each direction
    state: Tensor,  # (B, size), from which both start
    weights: Sequence[Sequence[Tensor]],  # of each direction
    readable: Tensor,  # (B, S)
) -> list[tuple[Tensor, Tensor]]:
    """Run forwards and backwards at once, with half as many kernels: as two lanes of sentences, each with its weights
    → h (B, S, width) and the last state of each
    """
    there, back = projected
    low = [torch.stack(lanes).to(there.dtype) for lanes in zip(*weights, strict=True)]
    both = torch.cat([there, back.flip(1)])
    masks = torch.cat([readable, readable.flip(1)])
    scanned = _Scan.apply(kind, both, torch.cat([state, state]), masks, [True] * both.shape[1], False, *low)  # type: ignore[no-untyped-call]
    outputs, last = (cast(Tensor, result).chunk(2) for result in scanned)
    return [(outputs[0], last[0]), (outputs[1].flip(1), last[1])]


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
        cell = make_cell(kind, weights, projected)
        steps, keep = projected.unbind(1), () if readable is None else readable[..., None].unbind(1)
        order = list(reversed(range(len(steps))) if backwards else range(len(steps)))
        outputs, kept = [state] * len(steps), []
        for s in order:
            state, needed = cell.move(steps[s], state, keep[s] if padded[s] else None)
            outputs[s] = state[:, : cell.width]
            if any(ctx.needs_input_grad):
                kept.append(needed)
        ctx.cell, ctx.order, ctx.padded, ctx.shape = type(cell), order, padded, projected.shape
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
        cell: CellScan = ctx.cell(weights)
        of_steps, keep = of_outputs.unbind(1), () if readable is None else readable[..., None].unbind(1)
        of_projected = weights[0].new_empty(steps, ctx.shape[0], ctx.shape[2])  # in the order of the scan
        product = None
        for n in reversed(range(steps)):
            s = ctx.order[n]
            mask = keep[s] if ctx.padded[s] else None
            of_state, product = cell.move_back(of_state, product, of_steps[s], kept[n], mask, of_projected[n])
        of_weights = cell.of_weights(of_projected, list(zip(*kept, strict=True))[: len(weights)])
        by_place = of_projected.flip(0) if ctx.order and ctx.order[0] else of_projected
        return None, by_place.transpose(0, 1), add_product(of_state, product), None, None, None, *of_weights
