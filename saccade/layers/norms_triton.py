"""The layer normalisation of `norms.py`, alone or of a sum with dropout, as two Triton kernels:

s = x + dropout(f),  y = norm(s)
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from saccade.layers.dropout_triton import MOST_SUMS, in_steps, is_kept, sum_programs

_AT_ONCE = 512  # numbers that a program reads at once, in whole rows


@triton.jit(do_not_specialize=["rows"])
def _forward(
    x_in,
    f_in,
    f_bias,
    seed,
    weight,
    bias,
    s_out,
    y_out,
    mean_out,
    rstd_out,
    rows,
    width,
    eps,
    dropped,
    scale,
    ADDS: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows)[:, None] & (column < width)
    place = row[:, None] * width + column
    x = tl.load(x_in + place, mask=inside, other=0.0).to(tl.float32)
    if ADDS:
        f = tl.load(f_in + place, mask=inside, other=0.0).to(tl.float32)
        if HAS_BIAS:
            f += tl.load(f_bias + column, mask=column < width, other=0.0).to(tl.float32)
        if DROPS:
            f = tl.where(is_kept(seed, place, dropped), f * scale, 0.0)
        x = (x + f).to(s_out.dtype.element_ty)
        tl.store(s_out + place, x, mask=inside)
        x = x.to(tl.float32)
    mean = tl.sum(x, 1) / width
    centred = tl.where(inside, x - mean[:, None], 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, 1) / width + eps)
    gamma = tl.load(weight + column, mask=column < width, other=0.0).to(tl.float32)
    beta = tl.load(bias + column, mask=column < width, other=0.0).to(tl.float32)
    y = centred * rstd[:, None] * gamma + beta
    tl.store(y_out + place, y.to(y_out.dtype.element_ty), mask=inside)
    tl.store(mean_out + row, mean, mask=row < rows)
    tl.store(rstd_out + row, rstd, mask=row < rows)


@triton.jit(do_not_specialize=["rows"])
def _backward(
    dy_in,
    ds_in,
    s_in,
    seed,
    weight,
    mean_in,
    rstd_in,
    dx_out,
    df_out,
    sums_out,
    rows,
    width,
    dropped,
    scale,
    PASSES: tl.constexpr,
    ADDS: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    DROPS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # dx = ds + (g − mean(g) − ŝ mean(g∘ŝ))/σ with g = dy∘γ and ŝ = (s − μ)/σ; each program sums dγ, dβ
    # and the gradient of the function's bias over its rows.
    program, programs = tl.program_id(0), tl.num_programs(0)
    column = tl.arange(0, BLOCK)[None, :]
    gamma = tl.load(weight + column, mask=column < width, other=0.0).to(tl.float32)
    dw = tl.zeros((ROWS, BLOCK), tl.float32)
    db = tl.zeros((ROWS, BLOCK), tl.float32)
    of_f = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (column < width)
        place = row[:, None].to(tl.int64) * width + column
        dy = tl.load(dy_in + place, mask=inside, other=0.0).to(tl.float32)
        s = tl.load(s_in + place, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(mean_in + row, mask=row < rows, other=0.0)[:, None]
        rstd = tl.load(rstd_in + row, mask=row < rows, other=0.0)[:, None]
        normed = tl.where(inside, (s - mean) * rstd, 0.0)
        g = dy * gamma
        dx = (g - (tl.sum(g, 1) / width)[:, None] - normed * (tl.sum(g * normed, 1) / width)[:, None]) * rstd
        if PASSES:
            dx += tl.load(ds_in + place, mask=inside, other=0.0).to(tl.float32)
        tl.store(dx_out + place, dx.to(dx_out.dtype.element_ty), mask=inside)
        if ADDS:
            if DROPS:
                dx = tl.where(is_kept(seed, place, dropped), dx * scale, 0.0)
            tl.store(df_out + place, dx.to(df_out.dtype.element_ty), mask=inside)
            if HAS_BIAS:
                of_f += tl.where(inside, dx, 0.0)
        dw += dy * normed
        db += dy
    sums_out += program * width + column
    tl.store(sums_out, tl.sum(dw, 0)[None, :], mask=column < width)
    tl.store(sums_out + programs * width, tl.sum(db, 0)[None, :], mask=column < width)
    if HAS_BIAS:
        tl.store(sums_out + 2 * programs * width, tl.sum(of_f, 0)[None, :], mask=column < width)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        f: Tensor | None,
        f_bias: Tensor | None,
        seed: Tensor | None,
        share: float,
        weight: Tensor,
        bias: Tensor,
        eps: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor] | Tensor:
        x, width = x.contiguous(), x.shape[-1]
        f, rows = None if f is None else f.contiguous(), x.numel() // width
        s = x if f is None else torch.empty_like(x)
        y = torch.empty_like(x, dtype=dtype)
        mean, rstd = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
        block = triton.next_power_of_2(width)
        at_once = max(1, _AT_ONCE // block)
        dropped, scale = in_steps(share)
        if rows:
            kinds = f is not None, f_bias is not None, seed is not None, at_once, block
            tensors = x, f, f_bias, seed, weight, bias, s, y, mean, rstd
            _forward[(triton.cdiv(rows, at_once),)](*tensors, rows, width, eps, dropped, scale, *kinds)
        ctx.save_for_backward(s, f_bias, weight, mean, rstd, seed)
        ctx.added, ctx.share = None if f is None else f.dtype, share
        ctx.set_materialize_grads(False)
        return y if f is None else (s, y)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        s, f_bias, weight, mean, rstd, seed = ctx.saved_tensors
        ds, dy = gradients if len(gradients) == 2 else (None, gradients[0])
        width, rows = s.shape[-1], len(mean)
        dy = torch.zeros_like(s) if dy is None else dy.contiguous()
        ds = None if ds is None else ds.contiguous()
        dx, df = torch.empty_like(s), None if ctx.added is None else torch.empty_like(s, dtype=ctx.added)
        block = triton.next_power_of_2(width)
        at_once = max(1, _AT_ONCE // block)
        programs = max(1, min(triton.cdiv(rows, at_once), MOST_SUMS))
        sums = torch.empty(2 if f_bias is None else 3, programs, width, dtype=torch.float32, device=s.device)
        dropped, scale = in_steps(ctx.share)
        kinds = ds is not None, df is not None, f_bias is not None, seed is not None, at_once, block
        tensors = dy, ds, s, seed, weight, mean, rstd, dx, df, sums
        _backward[(programs,)](*tensors, rows, width, dropped, scale, *kinds)
        dw, db, *of_f = sum_programs(sums)
        of_f_bias = None if f_bias is None else of_f[0].to(f_bias.dtype)
        return dx, df, of_f_bias, None, None, dw.to(weight.dtype), db.to(weight.dtype), None, None


def fused_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float, dtype: torch.dtype) -> Tensor:
    function: type[torch.autograd.Function] = _Norm
    normed: Tensor = function.apply(x, None, None, None, 0.0, weight, bias, eps, dtype)
    return normed


def fused_sum_and_norm(
    x: Tensor,
    f: Tensor,
    f_bias: Tensor | None,
    seed: Tensor | None,
    share: float,
    norm: nn.LayerNorm,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor]:
    """x + dropout(f + b), and its norm. Without a seed nothing is dropped."""
    function: type[torch.autograd.Function] = _Norm
    total, normed = function.apply(x, f, f_bias, seed, share, norm.weight, norm.bias, norm.eps, dtype)
    return total, normed
