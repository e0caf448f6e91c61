"""The cross-entropy of `cross_entropy.py` as two Triton kernels, one program per row."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 4096  # logits that a program reads at once


@triton.jit
def _forward(logits, wanted, lse_out, plain_out, loss_out, vocabulary, ignored, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(wanted + row)
    logits += row * vocabulary
    largest = tl.full((), float("-inf"), tl.float32)
    exps = tl.zeros((), tl.float32)  # Σ exp(x − largest)
    total = tl.zeros((), tl.float32)  # Σ x
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + columns, mask=columns < vocabulary, other=float("-inf")).to(tl.float32)
        new = tl.maximum(largest, tl.max(x, 0))
        exps = exps * tl.exp(largest - new) + tl.sum(tl.exp(x - new), 0)
        total += tl.sum(tl.where(columns < vocabulary, x, 0.0), 0)
        largest = new
    lse = largest + tl.log(exps)
    counts = target != ignored
    plain = tl.where(counts, lse - tl.load(logits + target).to(tl.float32), 0.0)
    uniform = tl.where(counts, lse - total / vocabulary, 0.0)
    tl.store(lse_out + row, lse)
    tl.store(plain_out + row, plain)
    tl.store(loss_out + row, (1 - smoothing) * plain + smoothing * uniform)


@triton.jit
def _backward(logits, wanted, lse_in, scale_in, out, vocabulary, ignored, smoothing, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(wanted + row)
    scale = tl.where(target != ignored, tl.load(scale_in).to(tl.float32), 0.0)
    lse = tl.load(lse_in + row)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < vocabulary
    x = tl.load(logits + row * vocabulary + columns, mask=inside, other=0.0).to(tl.float32)
    gradient = tl.exp(x - lse) - smoothing / vocabulary
    gradient = tl.where(columns == target, gradient - (1 - smoothing), gradient)
    tl.store(out + row * vocabulary + columns, (scale * gradient).to(out.dtype.element_ty), mask=inside)


class FusedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, wanted: Tensor, ignored: int, smoothing: float) -> tuple[Tensor, Tensor]:
        logits = logits.contiguous()
        rows, vocabulary = logits.shape
        lse, plain, loss = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(3))
        if rows:
            _forward[(rows,)](logits, wanted, lse, plain, loss, vocabulary, ignored, smoothing, _BLOCK)
        ctx.save_for_backward(logits, wanted, lse)
        ctx.ignored, ctx.smoothing = ignored, smoothing
        ctx.mark_non_differentiable(plain)
        return loss.sum(), plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        logits, wanted, lse = ctx.saved_tensors
        rows, vocabulary = logits.shape
        out = torch.empty_like(logits)
        if rows:
            grid = (rows, triton.cdiv(vocabulary, _BLOCK))
            _backward[grid](logits, wanted, lse, gradients[0], out, vocabulary, ctx.ignored, ctx.smoothing, _BLOCK)
        return out, None, None, None
