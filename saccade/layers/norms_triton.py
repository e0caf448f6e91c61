"""The layer normalisation of `norms.py` as two Triton kernels."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

_PROGRAMS = 528  # of the backward pass: four per multiprocessor of a large GPU, each with many rows


@triton.jit
def _forward(x_in, weight, bias, y_out, mean_out, rstd_out, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    x = tl.load(x_in + row * width + columns, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / width
    centred = tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, 0) / width + eps)
    gamma = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    beta = tl.load(bias + columns, mask=inside, other=0.0).to(tl.float32)
    y = centred * rstd * gamma + beta
    tl.store(y_out + row * width + columns, y.to(y_out.dtype.element_ty), mask=inside)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)


@triton.jit
def _backward(dy_in, x_in, weight, mean_in, rstd_in, dx_out, dw_out, db_out, rows, width, BLOCK: tl.constexpr):
    # dx = (g − mean(g) − x̂ mean(g∘x̂))/σ with g = dy∘γ and x̂ = (x − μ)/σ; each program sums dγ and dβ of its rows.
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    gamma = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for row in range(program, rows, programs):
        start = (tl.zeros((), tl.int64) + row) * width
        dy = tl.load(dy_in + start + columns, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(x_in + start + columns, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_in + row)
        normed = tl.where(inside, (x - tl.load(mean_in + row)) * rstd, 0.0)
        g = dy * gamma
        dx = (g - tl.sum(g, 0) / width - normed * (tl.sum(g * normed, 0) / width)) * rstd
        tl.store(dx_out + start + columns, dx.to(dx_out.dtype.element_ty), mask=inside)
        dw += dy * normed
        db += dy
    tl.store(dw_out + program * width + columns, dw, mask=inside)
    tl.store(db_out + program * width + columns, db, mask=inside)


class FusedLayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, dtype: torch.dtype) -> Tensor:
        x = x.contiguous()
        width = x.shape[-1]
        rows = x.numel() // width
        y = torch.empty_like(x, dtype=dtype)
        mean, rstd = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
        if rows:
            _forward[(rows,)](x, weight, bias, y, mean, rstd, width, eps, triton.next_power_of_2(width))
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, rstd = ctx.saved_tensors
        width, rows = x.shape[-1], len(mean)
        dx, programs = torch.empty_like(x), max(1, min(rows, _PROGRAMS))
        dw, db = (torch.zeros(programs, width, dtype=torch.float32, device=x.device) for _ in range(2))
        if rows:
            block = triton.next_power_of_2(width)
            _backward[(programs,)](dy.contiguous(), x, weight, mean, rstd, dx, dw, db, rows, width, block)
        return dx, dw.sum(0).to(weight.dtype), db.sum(0).to(weight.dtype), None, None
