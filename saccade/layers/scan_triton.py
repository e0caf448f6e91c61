"""The units of `scan.py` with all that lies between their products in one Triton kernel each.

A program computes some columns of one sentence. Numbers are computed in float32, and stored in the precision of the
products where only products and derivatives read them.
"""

import weakref
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from saccade.attention.steps_triton import tanh
from saccade.layers.scan import CellScan, GatedScan, Kept, LongShortTermScan, multiply

_BLOCK = 256


@triton.jit
def _load(pointer, inside):
    return tl.load(pointer, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def _store(pointer, x, inside):
    tl.store(pointer, x.to(pointer.dtype.element_ty), mask=inside)


@triton.jit
def _columns(width, BLOCK: tl.constexpr):
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    return tl.program_id(0).to(tl.int64), columns, columns < width


@triton.jit
def _is_open(keep, row, keep_stride, MASKED: tl.constexpr):
    is_open = row >= 0
    if MASKED:
        is_open = tl.load(keep + row * keep_stride) != 0
    return is_open


@triton.jit
def _gates(projected, projected_stride, product, state, gates_out, past_out, width, BLOCK: tl.constexpr):
    # r, z = σ(projected + product) → [r; z], r∘h
    row, columns, inside = _columns(width, BLOCK)
    into, both, one = row * projected_stride + columns, row * 2 * width + columns, row * width + columns
    reset = tl.sigmoid(_load(projected + into, inside) + _load(product + both, inside))
    update = tl.sigmoid(_load(projected + into + width, inside) + _load(product + both + width, inside))
    _store(gates_out + both, reset, inside)
    _store(gates_out + both + width, update, inside)
    _store(past_out + one, reset * _load(state + one, inside), inside)


@triton.jit
def _mix(
    projected, projected_stride, product, state, gates, keep, keep_stride, candidate_out, new_out, narrow_out, width,
    MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # h̃ = tanh(projected + product), h = z∘h₋₁ + (1 − z)∘h̃
    row, columns, inside = _columns(width, BLOCK)
    one = row * width + columns
    candidate = tanh(
        _load(projected + row * projected_stride + 2 * width + columns, inside) + _load(product + one, inside)
    )
    update = _load(gates + row * 2 * width + width + columns, inside)
    old = _load(state + one, inside)
    new = candidate + update * (old - candidate)
    new = tl.where(_is_open(keep, row, keep_stride, MASKED), new, old)
    _store(candidate_out + one, candidate, inside)
    _store(new_out + one, new, inside)
    _store(narrow_out + one, new, inside)


@triton.jit
def _gradient(
    carried,
    carried_stride,
    product,
    of_output,
    of_output_stride,
    row,
    columns,
    width,
    inside,
    PRODUCT: tl.constexpr,
    OUTPUT: tl.constexpr,
):
    # of h: what was carried, the product of the step after, and what other layers want of this step
    total = _load(carried + row * carried_stride + columns, inside)
    if PRODUCT:
        total += _load(product + row * width + columns, inside)
    if OUTPUT:
        total += _load(of_output + row * of_output_stride + columns, inside)
    return total


@triton.jit
def _of_mix(
    carried, product, of_output, of_output_stride, keep, keep_stride, state, gates, candidate, carry_out, into_out,
    width, PRODUCT: tl.constexpr, OUTPUT: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, columns, inside = _columns(width, BLOCK)
    one, into = row * width + columns, row * 3 * width + columns
    total = _gradient(
        carried, width, product, of_output, of_output_stride, row, columns, width, inside, PRODUCT, OUTPUT
    )
    is_open = _is_open(keep, row, keep_stride, MASKED)
    update = _load(gates + row * 2 * width + width + columns, inside)
    new, old = _load(candidate + one, inside), _load(state + one, inside)
    moved = tl.where(is_open, total, 0.0)
    _store(into_out + into + width, moved * (old - new) * update * (1 - update), inside)
    _store(into_out + into + 2 * width, moved * (1 - update) * (1 - new * new), inside)
    _store(carry_out + one, tl.where(is_open, total * update, total), inside)


@triton.jit
def _of_gates(of_past, state, gates, carry, into_out, width, BLOCK: tl.constexpr):
    row, columns, inside = _columns(width, BLOCK)
    one = row * width + columns
    reset, of = _load(gates + row * 2 * width + columns, inside), _load(of_past + one, inside)
    _store(into_out + row * 3 * width + columns, of * _load(state + one, inside) * reset * (1 - reset), inside)
    _store(carry + one, _load(carry + one, inside) + of * reset, inside)


@triton.jit
def _remember(
    projected, projected_stride, product, state, keep, keep_stride, gates_out, new_out, narrow_out, width,
    MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    # f, i, o, g → c = f∘c₋₁ + i∘g, h = o∘tanh(c)
    row, columns, inside = _columns(width, BLOCK)
    into, four, two = row * projected_stride + columns, row * 4 * width + columns, row * 2 * width + columns
    forget = tl.sigmoid(_load(projected + into, inside) + _load(product + four, inside))
    enter = tl.sigmoid(_load(projected + into + width, inside) + _load(product + four + width, inside))
    leave = tl.sigmoid(_load(projected + into + 2 * width, inside) + _load(product + four + 2 * width, inside))
    candidate = tanh(_load(projected + into + 3 * width, inside) + _load(product + four + 3 * width, inside))
    output, cell = _load(state + two, inside), _load(state + two + width, inside)
    moved = forget * cell + enter * candidate
    is_open = _is_open(keep, row, keep_stride, MASKED)
    output = tl.where(is_open, leave * tanh(moved), output)
    _store(gates_out + four, forget, inside)
    _store(gates_out + four + width, enter, inside)
    _store(gates_out + four + 2 * width, leave, inside)
    _store(gates_out + four + 3 * width, candidate, inside)
    _store(new_out + two, output, inside)
    _store(new_out + two + width, tl.where(is_open, moved, cell), inside)
    _store(narrow_out + row * width + columns, output, inside)


@triton.jit
def _of_remember(
    carried, product, of_output, of_output_stride, keep, keep_stride, state, gates, carry_out, into_out, width,
    PRODUCT: tl.constexpr, OUTPUT: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, columns, inside = _columns(width, BLOCK)
    four, two = row * 4 * width + columns, row * 2 * width + columns
    total = _gradient(
        carried, 2 * width, product, of_output, of_output_stride, row, columns, width, inside, PRODUCT, OUTPUT
    )
    of_cell = _load(carried + two + width, inside)
    is_open = _is_open(keep, row, keep_stride, MASKED)
    forget, enter = _load(gates + four, inside), _load(gates + four + width, inside)
    leave, candidate = _load(gates + four + 2 * width, inside), _load(gates + four + 3 * width, inside)
    cell = _load(state + two + width, inside)
    bounded = tanh(forget * cell + enter * candidate)
    of_moved = tl.where(is_open, of_cell + total * leave * (1 - bounded * bounded), 0.0)
    of_leave = tl.where(is_open, total * bounded, 0.0)
    _store(into_out + four, of_moved * cell * forget * (1 - forget), inside)
    _store(into_out + four + width, of_moved * candidate * enter * (1 - enter), inside)
    _store(into_out + four + 2 * width, of_leave * leave * (1 - leave), inside)
    _store(into_out + four + 3 * width, of_moved * enter * (1 - candidate * candidate), inside)
    _store(carry_out + two, tl.where(is_open, 0.0, total), inside)
    _store(carry_out + two + width, tl.where(is_open, of_moved * forget, of_cell), inside)


class _Fused(CellScan):
    """Keeps the last output in the precision of the products, which the next step reads."""

    def __init__(self, weights: Any) -> None:
        super().__init__(weights)
        self._last: tuple[weakref.ref[Tensor], Tensor] | None = None

    def narrow(self, state: Tensor) -> Tensor:
        if self._last is not None and self._last[0]() is state:
            return self._last[1]
        return super().narrow(state)

    def _new(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Room for a state, and for its h in the precision of the products"""
        new, narrow = torch.empty_like(state), self.weights[0].new_empty(len(state), self.width)
        self._last = weakref.ref(new), narrow
        return new, narrow

    def _with_product(self, carry: Tensor, of_outputs: Tensor, weight: Tensor) -> tuple[Tensor, Tensor | None]:
        """Add the gradient of h by the recurrent product at once, or leave it to the next kernel."""
        if carry.dtype != weight.dtype or weight.dim() == 3:
            return carry, multiply(of_outputs, weight)
        carry[:, : self.width].addmm_(of_outputs, weight)
        return carry, None

    def _grid(self, rows: int) -> tuple[int, int]:
        return rows, triton.cdiv(self.width, _BLOCK)


class FusedGatedScan(_Fused, GatedScan):
    def move(self, projected: Tensor, state: Tensor, keep: Tensor | None) -> tuple[Tensor, Kept]:
        of_gates, of_candidate = self.weights
        projected, inputs, state = _dense_rows(projected), self.narrow(state), state.contiguous()
        rows, width = state.shape
        gates, past, candidate = (inputs.new_empty(rows, n * width) for n in (2, 1, 1))
        new, narrow = self._new(state)
        stride, grid = projected.stride(0), self._grid(rows)
        _gates[grid](projected, stride, multiply(inputs, of_gates.mT), state, gates, past, width, _BLOCK)
        product = multiply(past, of_candidate.mT)
        _mix[grid](
            projected, stride, product, state, gates, *_mask(keep, state), candidate, new, narrow, width,
            keep is not None, _BLOCK,
        )  # fmt: skip
        return new, (inputs, past, state, gates, candidate)

    def move_back(
        self, of_state: Tensor, product: Tensor | None, of_output: Tensor | None, kept: Kept, keep: Tensor | None,
        of_projected: Tensor,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        of_gates, of_candidate = self.weights
        _, _, state, gates, candidate = kept
        rows, width = state.shape
        carry, grid = torch.empty_like(state), self._grid(rows)
        _of_mix[grid](
            of_state.contiguous(), *_addends(product, of_output, of_state), *_mask(keep, state), state, gates,
            candidate, carry, of_projected, width, product is not None, of_output is not None, keep is not None, _BLOCK,
        )  # fmt: skip
        of_past = multiply(of_projected[:, 2 * width :], of_candidate)
        _of_gates[grid](of_past, state, gates, carry, of_projected, width, _BLOCK)
        return self._with_product(carry, of_projected[:, : 2 * width], of_gates)


class FusedLongShortTermScan(_Fused, LongShortTermScan):
    def move(self, projected: Tensor, state: Tensor, keep: Tensor | None) -> tuple[Tensor, Kept]:
        (weight,) = self.weights
        projected, inputs, state = _dense_rows(projected), self.narrow(state), state.contiguous()
        gates = inputs.new_empty(len(state), 4 * self.width)
        new, narrow = self._new(state)
        _remember[self._grid(len(state))](
            projected, projected.stride(0), multiply(inputs, weight.mT), state, *_mask(keep, state), gates, new, narrow,
            self.width, keep is not None, _BLOCK,
        )  # fmt: skip
        return new, (inputs, state, gates)

    def move_back(
        self, of_state: Tensor, product: Tensor | None, of_output: Tensor | None, kept: Kept, keep: Tensor | None,
        of_projected: Tensor,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        (weight,) = self.weights
        _, state, gates = kept
        carry = torch.empty_like(state)
        _of_remember[self._grid(len(state))](
            of_state.contiguous(), *_addends(product, of_output, of_state), *_mask(keep, state), state, gates, carry,
            of_projected, self.width, product is not None, of_output is not None, keep is not None, _BLOCK,
        )  # fmt: skip
        return self._with_product(carry, of_projected, weight)


def _dense_rows(rows: Tensor) -> Tensor:
    return rows if rows.stride(-1) == 1 else rows.contiguous()


def _mask(keep: Tensor | None, otherwise: Tensor) -> tuple[Tensor, int]:
    """The mask (B, 1) of a step and its stride; a kernel without one reads nothing through the pointer."""
    return (otherwise, 0) if keep is None else (keep, keep.stride(0))


def _addends(product: Tensor | None, of_output: Tensor | None, otherwise: Tensor) -> tuple[Tensor, Tensor, int]:
    of_output = otherwise if of_output is None else _dense_rows(of_output)
    return otherwise if product is None else product, of_output, of_output.stride(0)


FUSED: dict[type[CellScan], type[CellScan]] = {GatedScan: FusedGatedScan, LongShortTermScan: FusedLongShortTermScan}
