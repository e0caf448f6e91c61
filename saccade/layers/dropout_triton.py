"""Dropout inside Triton kernels. Its mask is never stored: the backward pass computes it again from the seed.

The random bits of the number at place i are those of a hash of i and a 64-bit seed. Torch's generator draws the seed on
the device, so that a CUDA graph draws a new one in every replay, and a resumed run draws the same ones.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

_STEPS = 1 << 24  # a rate is a multiple of 1/_STEPS
_ROWS, _COLUMNS = 16, 256  # that a program reads at once; half as many columns in a backward pass
_PROGRAMS = 1056  # of a backward pass: eight per multiprocessor of a large GPU
MOST_SUMS = 1024  # programs whose sums are added up at once


def draw_seed(device: torch.device) -> Tensor:
    return torch.empty(1, dtype=torch.int64, device=device).random_(-(2**63), None)


def in_steps(share: float) -> tuple[int, float]:
    """What `is_kept` compares with, and the factor that keeps the mean."""
    dropped = min(round(share * _STEPS), _STEPS - 1)
    return dropped, _STEPS / (_STEPS - dropped)


@triton.jit
def is_kept(seed_in, place, dropped):
    seed = tl.load(seed_in)
    low, high = (seed & 0xFFFFFFFF).to(tl.uint32), ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32)
    bits = place.to(tl.uint32) * (high | 1) + low  # another order of all places for each seed
    # Each bit of the result depends on all of these: by shifts and odd factors that were found by a search.
    bits ^= bits >> 16
    bits *= 0x7FEB352D
    bits ^= bits >> 15
    bits *= 0x846CA68B
    bits ^= bits >> 16
    return (bits >> 8).to(tl.int32) >= dropped


@triton.jit(do_not_specialize=["rows"])
def _relu_forward(
    x_in, bias, seed, y_out, rows, width, dropped, scale, DROPS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64)
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    inside, place = (row < rows) & (column < width), row * width + column
    x = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32)
    y = tl.maximum(x + tl.load(bias + column, mask=column < width, other=0.0).to(tl.float32), 0.0)
    if DROPS:
        y = tl.where(is_kept(seed, place, dropped), y * scale, 0.0)
    tl.store(y_out + place, y.to(y_out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows"])
def _relu_backward(dy_in, y_in, dx_out, db_out, rows, width, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    # y > 0 exactly where x + b > 0 and the number was kept; each program sums db of its rows.
    program, programs = tl.program_id(1), tl.num_programs(1)
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    db = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = (start + tl.arange(0, ROWS))[:, None].to(tl.int64)
        inside, place = (row < rows) & (column < width), row * width + column
        y = tl.load(y_in + place, mask=inside, other=0.0)
        dx = tl.load(dy_in + place, mask=inside, other=0.0).to(tl.float32) * scale
        dx = tl.where(y > 0, dx, 0.0)
        tl.store(dx_out + place, dx.to(dx_out.dtype.element_ty), mask=inside)
        db += dx
    tl.store(db_out + program * width + column, tl.sum(db, 0)[None, :], mask=column < width)


@triton.jit(do_not_specialize=["programs"])
def _sum_programs(sums_in, total_out, programs, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    which = tl.program_id(1)
    row, column = tl.arange(0, ROWS)[:, None], (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    sums_in += which * programs * width + column
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, programs, ROWS):
        inside = (start + row < programs) & (column < width)
        total += tl.load(sums_in + (start + row) * width, mask=inside, other=0.0)
    tl.store(total_out + which * width + column, tl.sum(total, 0)[None, :], mask=column < width)


def sum_programs(sums: Tensor) -> Tensor:
    """(N, programs, width) → (N, width), in float32: what each program of a backward pass has summed over its rows."""
    count, programs, width = sums.shape
    total = torch.empty(count, width, dtype=torch.float32, device=sums.device)
    rows = min(MOST_SUMS, triton.next_power_of_2(programs))
    _sum_programs[(triton.cdiv(width, 8), count)](sums, total, programs, width, rows, 8, num_warps=8)
    return total


class FusedReluDropout(torch.autograd.Function):
    """dropout(relu(x + b)) for x (…, width)"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor, seed: Tensor | None, share: float) -> Tensor:
        x, width = x.contiguous(), x.shape[-1]
        rows, y = x.numel() // width, torch.empty_like(x)
        dropped, scale = in_steps(share)
        if rows:
            grid = (triton.cdiv(width, _COLUMNS), triton.cdiv(rows, _ROWS))
            _relu_forward[grid](x, bias, seed, y, rows, width, dropped, scale, seed is not None, _ROWS, _COLUMNS)
        ctx.save_for_backward(y, bias)
        ctx.scale = scale if seed is not None else 1.0
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        y, bias = ctx.saved_tensors
        width = y.shape[-1]
        rows, columns = y.numel() // width, _COLUMNS // 2
        blocks = triton.cdiv(width, columns)
        programs = max(1, min(triton.cdiv(rows, _ROWS), _PROGRAMS // blocks))
        dx, sums = torch.empty_like(y), torch.empty(1, programs, width, dtype=torch.float32, device=y.device)
        _relu_backward[(blocks, programs)](dy.contiguous(), y, dx, sums, rows, width, ctx.scale, _ROWS, columns)
        return dx, sum_programs(sums)[0].to(bias.dtype), None, None


@triton.jit(do_not_specialize=["rows", "length"])
def _place(
    x_in,
    places,
    seed,
    y_out,
    rows,
    length,
    width,
    factor,
    dropped,
    scale,
    ADDS: tl.constexpr,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64)
    column = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    inside, place = (row < rows) & (column < width), row * width + column
    y = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32) * factor
    if ADDS:
        y += tl.load(places + (row % length) * width + column, mask=inside, other=0.0).to(tl.float32)
    if DROPS:
        y = tl.where(is_kept(seed, place, dropped), y * scale, 0.0)
    tl.store(y_out + place, y.to(y_out.dtype.element_ty), mask=inside)


class FusedPlacing(torch.autograd.Function):
    """dropout(c x + p) for x (B, T, width) and p (1, T, width), which has no gradient"""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float, places: Tensor, seed: Tensor | None, share: float) -> Tensor:
        ctx.save_for_backward(seed)
        ctx.factor, ctx.share = factor, share
        return _run_place(x, factor, places.float().contiguous(), seed, share)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        (seed,) = ctx.saved_tensors
        return _run_place(dy, ctx.factor, None, seed, ctx.share), None, None, None, None


def _run_place(x: Tensor, factor: float, places: Tensor | None, seed: Tensor | None, share: float) -> Tensor:
    x, width = x.contiguous(), x.shape[-1]
    rows, y = x.numel() // width, torch.empty_like(x)
    if rows:
        grid = (triton.cdiv(width, _COLUMNS), triton.cdiv(rows, _ROWS))
        sizes, kinds = (rows, x.shape[1], width), (places is not None, seed is not None, _ROWS, _COLUMNS)
        _place[grid](x, places, seed, y, *sizes, factor, *in_steps(share), *kinds)
    return y
