"""Attention over few slots as two Triton kernels, one program per sentence and head: all its scores are held at once.

    P = softmax(c Q Kᵀ),  Y = P V
    dV = Pᵀ dY,  dS = P ∘ (dY Vᵀ − rowsum(P ∘ dY Vᵀ)),  dQ = c dS K,  dK = c dSᵀ Q

The backward pass computes P again, and writes the gradients of queries, keys and values side by side.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

_LENGTHS = ["queries", "slots"]  # they change from batch to batch, and are no reason to compile anew


@triton.jit
def _rows(tensor, sentence_step, row_step, head_step, places, columns):
    sentence, head = tl.program_id(1).to(tl.int64), tl.program_id(0)
    return tensor + sentence * sentence_step + head * head_step + places[:, None] * row_step + columns[None, :]


@triton.jit
def _readable(readable_in, places, slots, HAS_MASK: tl.constexpr):
    readable = places < slots
    if HAS_MASK:
        sentence = tl.program_id(1).to(tl.int64)
        readable = readable & (tl.load(readable_in + sentence * slots + places, mask=readable, other=0) != 0)
    return readable


@triton.jit
def _weights(q, k, places, readable, scale, CAUSAL: tl.constexpr):
    # A query with nothing to read has weights of 0.
    allowed = readable[None, :]
    if CAUSAL:
        allowed = allowed & (places[None, :] <= places[:, None])
    scores = tl.where(allowed, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
    largest = tl.max(scores, 1)
    exps = tl.exp(scores - tl.where(largest == float("-inf"), 0.0, largest)[:, None])
    total = tl.sum(exps, 1)
    return exps / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit(do_not_specialize=_LENGTHS)
def _forward(
    q_in,
    k_in,
    v_in,
    readable_in,
    y_out,
    queries,
    slots,
    scale,
    q_b,
    q_t,
    q_h,
    k_b,
    k_t,
    k_h,
    v_b,
    v_t,
    v_h,
    y_b,
    y_t,
    y_h,
    HAS_MASK: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
):
    places, columns = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    is_query = (places < queries)[:, None]
    readable = _readable(readable_in, places, slots, HAS_MASK)
    # What cannot be read is read as 0, whatever it is.
    q = tl.load(_rows(q_in, q_b, q_t, q_h, places, columns), mask=is_query, other=0.0)
    k = tl.load(_rows(k_in, k_b, k_t, k_h, places, columns), mask=readable[:, None], other=0.0)
    v = tl.load(_rows(v_in, v_b, v_t, v_h, places, columns), mask=readable[:, None], other=0.0)
    p = _weights(q, k, places, readable, scale, CAUSAL)
    y = tl.dot(p.to(v.dtype), v)
    tl.store(_rows(y_out, y_b, y_t, y_h, places, columns), y.to(y_out.dtype.element_ty), mask=is_query)


@triton.jit(do_not_specialize=_LENGTHS)
def _backward(
    dy_in,
    q_in,
    k_in,
    v_in,
    readable_in,
    dq_out,
    dk_out,
    dv_out,
    queries,
    slots,
    scale,
    dy_b,
    dy_t,
    dy_h,
    q_b,
    q_t,
    q_h,
    k_b,
    k_t,
    k_h,
    v_b,
    v_t,
    v_h,
    dq_b,
    dq_t,
    dq_h,
    dk_b,
    dk_t,
    dk_h,
    HAS_MASK: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
):
    places, columns = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    is_query, is_slot = (places < queries)[:, None], (places < slots)[:, None]
    readable = _readable(readable_in, places, slots, HAS_MASK)
    q = tl.load(_rows(q_in, q_b, q_t, q_h, places, columns), mask=is_query, other=0.0)
    k = tl.load(_rows(k_in, k_b, k_t, k_h, places, columns), mask=readable[:, None], other=0.0)
    v = tl.load(_rows(v_in, v_b, v_t, v_h, places, columns), mask=readable[:, None], other=0.0)
    dy = tl.load(_rows(dy_in, dy_b, dy_t, dy_h, places, columns), mask=is_query, other=0.0)
    p = _weights(q, k, places, readable, scale, CAUSAL)
    dv = tl.dot(tl.trans(p.to(dy.dtype)), dy)
    dp = tl.dot(dy, tl.trans(v))
    ds = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(q.dtype)
    dq, dk = tl.dot(ds, k), tl.dot(tl.trans(ds), q)
    tl.store(_rows(dq_out, dq_b, dq_t, dq_h, places, columns), dq.to(q.dtype), mask=is_query)
    tl.store(_rows(dk_out, dk_b, dk_t, dk_h, places, columns), dk.to(q.dtype), mask=is_slot)
    tl.store(_rows(dv_out, dk_b, dk_t, dk_h, places, columns), dv.to(q.dtype), mask=is_slot)


class ShortAttention(torch.autograd.Function):
    """queries (B, H, T, d), keys and values (B, H, S, d), readable (B, S) bool or None → (B, H, T, d)"""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, readable: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        q, k, v = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k, v))
        readable = None if readable is None else readable.contiguous().view(torch.uint8)
        y = torch.empty_like(q.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)
        if q.shape[0]:
            steps = [step for x in (q, k, v, y) for step in _steps(x)]
            grid, options = _launch(q, k, readable, causal)
            _forward[grid](q, k, v, readable, y, q.shape[2], k.shape[2], scale, *steps, **options)
        ctx.save_for_backward(q, k, v, readable)
        ctx.causal, ctx.scale = causal, scale
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, readable = ctx.saved_tensors
        dy = dy if dy.stride(-1) == 1 else dy.contiguous()
        dq, dk, dv = _side_by_side(q, k)
        if q.shape[0]:
            steps = [step for x in (dy, q, k, v, dq, dk) for step in _steps(x)]
            grid, options = _launch(q, k, readable, ctx.causal)
            lengths = q.shape[2], k.shape[2], ctx.scale
            _backward[grid](dy, q, k, v, readable, dq, dk, dv, *lengths, *steps, **options)
        return dq, dk, dv, None, None, None


def _side_by_side(q: Tensor, k: Tensor) -> list[Tensor]:
    """Memory for the gradients of queries, keys and values: (B, T, 3, H, d), or the queries' apart."""
    sentences, heads, slots, width = k.shape
    count = 3 if q.shape == k.shape else 2
    packed = k.new_empty(sentences, slots, count, heads, width).permute(2, 0, 3, 1, 4).unbind()
    alone = [] if count == 3 else [q.new_empty(sentences, q.shape[2], heads, width).transpose(1, 2)]
    return [*alone, *packed]


def _steps(x: Tensor) -> tuple[int, int, int]:
    return x.stride(0), x.stride(2), x.stride(1)


def _launch(q: Tensor, k: Tensor, readable: Tensor | None, causal: bool) -> tuple[tuple[int, int], dict[str, Any]]:
    block = max(32, triton.next_power_of_2(max(q.shape[2], k.shape[2])))
    options = {"HAS_MASK": readable is not None, "CAUSAL": causal, "BLOCK": block, "WIDTH": q.shape[3]}
    return (q.shape[1], q.shape[0]), options | {"num_warps": 4 if block <= 64 else 8}
