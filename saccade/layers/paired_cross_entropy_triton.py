"""The loss of `paired_cross_entropy.py` as two Triton kernels. Programs of the first read two rows of logits twice."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from saccade.layers.paired_cross_entropy import PairWeights

_BLOCK = 2048  # logits of each row that a program reads at once


@triton.jit
def _log_sum(logits, vocabulary, BLOCK: tl.constexpr):
    """log Σ exp x and Σ x of one row"""
    largest = tl.full((), float("-inf"), tl.float32)
    exps = tl.zeros((), tl.float32)
    total = tl.zeros((), tl.float32)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits + columns, mask=columns < vocabulary, other=float("-inf")).to(tl.float32)
        new = tl.maximum(largest, tl.max(x, 0))
        exps = exps * tl.exp(largest - new) + tl.sum(tl.exp(x - new), 0)
        total += tl.sum(tl.where(columns < vocabulary, x, 0.0), 0)
        largest = new
    return largest + tl.log(exps), total


@triton.jit
def _forward(
    logits, wanted, sums_out, plain_out, loss_out, rows, vocabulary, ignored, smoothing, a, b, c, d, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(wanted + row)
    first, second = logits + row * vocabulary, logits + (rows + row) * vocabulary
    lse_p, total_p = _log_sum(first, vocabulary, BLOCK)
    lse_q, total_q = _log_sum(second, vocabulary, BLOCK)
    forward = tl.zeros((), tl.float32)  # KL(p‖q)
    backward = tl.zeros((), tl.float32)  # KL(q‖p)
    for start in range(0, vocabulary, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < vocabulary
        log_p = tl.load(first + columns, mask=inside, other=0.0).to(tl.float32) - lse_p
        log_q = tl.load(second + columns, mask=inside, other=0.0).to(tl.float32) - lse_q
        difference = tl.where(inside, log_p - log_q, 0.0)
        forward += tl.sum(tl.exp(log_p) * difference, 0)
        backward -= tl.sum(tl.exp(log_q) * difference, 0)
    of_first = lse_p - tl.load(first + target).to(tl.float32)
    of_second = lse_q - tl.load(second + target).to(tl.float32)
    plain = a * of_first + b * of_second
    uniform = a * (lse_p - total_p / vocabulary) + b * (lse_q - total_q / vocabulary)
    loss = (1 - smoothing) * plain + smoothing * uniform + c * forward + d * backward
    counts = target != ignored
    tl.store(plain_out + row, tl.where(counts, plain, 0.0))
    tl.store(loss_out + row, tl.where(counts, loss, 0.0))
    sums = sums_out + row * 4
    tl.store(sums, lse_p)
    tl.store(sums + 1, lse_q)
    tl.store(sums + 2, forward)
    tl.store(sums + 3, backward)


@triton.jit
def _backward(
    logits, wanted, sums_in, scale_in, out, rows, vocabulary, ignored, smoothing, a, b, c, d, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(wanted + row)
    scale = tl.where(target != ignored, tl.load(scale_in).to(tl.float32), 0.0)
    sums = sums_in + row * 4
    lse_p, lse_q, forward, backward = tl.load(sums), tl.load(sums + 1), tl.load(sums + 2), tl.load(sums + 3)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < vocabulary
    at_first, at_second = row * vocabulary + columns, (rows + row) * vocabulary + columns
    log_p = tl.load(logits + at_first, mask=inside, other=0.0).to(tl.float32) - lse_p
    log_q = tl.load(logits + at_second, mask=inside, other=0.0).to(tl.float32) - lse_q
    p, q, difference = tl.exp(log_p), tl.exp(log_q), log_p - log_q
    correct = tl.where(columns == target, 1 - smoothing, 0.0) + smoothing / vocabulary
    of_first = a * (p - correct) + c * p * (difference - forward) + d * (p - q)
    of_second = b * (q - correct) + c * (q - p) - d * q * (difference + backward)
    tl.store(out + at_first, (scale * of_first).to(out.dtype.element_ty), mask=inside)
    tl.store(out + at_second, (scale * of_second).to(out.dtype.element_ty), mask=inside)


class FusedPairedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, wanted: Tensor, weights: PairWeights, ignored: int, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        logits = logits.contiguous()
        rows, vocabulary = len(wanted), logits.shape[1]
        plain, loss = (torch.empty(rows, dtype=torch.float32, device=logits.device) for _ in range(2))
        sums = torch.empty(rows, 4, dtype=torch.float32, device=logits.device)
        if rows:
            _forward[(rows,)](
                logits, wanted, sums, plain, loss, rows, vocabulary, ignored, smoothing, *weights, BLOCK=_BLOCK
            )
        ctx.save_for_backward(logits, wanted, sums)
        ctx.weights, ctx.ignored, ctx.smoothing = weights, ignored, smoothing
        ctx.mark_non_differentiable(plain)
        return loss.sum(), plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        logits, wanted, sums = ctx.saved_tensors
        rows, vocabulary = len(wanted), logits.shape[1]
        out = torch.empty_like(logits)
        if rows:
            grid = (rows, triton.cdiv(vocabulary, _BLOCK))
            options = (rows, vocabulary, ctx.ignored, ctx.smoothing, *ctx.weights)
            _backward[grid](logits, wanted, sums, gradients[0], out, *options, BLOCK=_BLOCK)
        return out, None, None, None, None
