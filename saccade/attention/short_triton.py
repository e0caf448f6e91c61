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

# They change from batch to batch and from layer to layer, and are no reason to compile anew.
_VARIABLE = ["queries", "slots", "has_mask", "is_causal"]


@triton.jit
def _rows(tensor, sentence_step, row_step, head_step, places, columns):
    sentence, head = tl.program_id(1).to(tl.int64), tl.program_id(0)
    return tensor + sentence * sentence_step + head * head_step + places[:, None] * row_step + columns[None, :]


@triton.jit
def _readable(readable_in, places, slots, has_mask):
    sentence, inside = tl.program_id(1).to(tl.int64), places < slots
    stored = tl.load(readable_in + sentence * slots + places, mask=inside & (has_mask != 0), other=1)
    return inside & (stored != 0)


@triton.jit
def _weights(q, k, places, readable, scale, is_causal):
    # A query with nothing to read has weights of 0.
    allowed = readable[None, :] & ((places[None, :] <= places[:, None]) | (is_causal == 0))
    scores = tl.where(allowed, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
    largest = tl.max(scores, 1)
    exps = tl.exp(scores - tl.where(largest == float("-inf"), 0.0, largest)[:, None])
    total = tl.sum(exps, 1)
    return exps / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit(do_not_specialize=_VARIABLE)
def _forward(
    q_in, k_in, v_in, readable_in, y_out, queries, slots, has_mask, is_causal, scale,
    q_b, q_t, q_h, k_b, k_t, k_h, v_b, v_t, v_h, y_b, y_t, y_h,  # strides
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    places, columns = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    is_query = (places < queries)[:, None]
    readable = _readable(readable_in, places, slots, has_mask)
    # What cannot be read is read as 0, whatever it is.
    q = tl.load(_rows(q_in, q_b, q_t, q_h, places, columns), mask=is_query, other=0.0)
    k = tl.load(_rows(k_in, k_b, k_t, k_h, places, columns), mask=readable[:, None], other=0.0)
    v = tl.load(_rows(v_in, v_b, v_t, v_h, places, columns), mask=readable[:, None], other=0.0)
    p = _weights(q, k, places, readable, scale, is_causal)
    y = tl.dot(p.to(v.dtype), v)
    tl.store(_rows(y_out, y_b, y_t, y_h, places, columns), y.to(y_out.dtype.element_ty), mask=is_query)


@triton.jit(do_not_specialize=_VARIABLE)
def _backward(
    q_in, k_in, v_in, dy_in, readable_in, dq_out, dk_out, dv_out, queries, slots, has_mask, is_causal, scale,
    q_b, q_t, q_h, k_b, k_t, k_h, v_b, v_t, v_h, dy_b, dy_t, dy_h, dq_b, dq_t, dq_h, dk_b, dk_t, dk_h,  # strides
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    places, columns = tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    is_query, is_slot = (places < queries)[:, None], (places < slots)[:, None]
    readable = _readable(readable_in, places, slots, has_mask)
    q = tl.load(_rows(q_in, q_b, q_t, q_h, places, columns), mask=is_query, other=0.0)
    k = tl.load(_rows(k_in, k_b, k_t, k_h, places, columns), mask=readable[:, None], other=0.0)
    v = tl.load(_rows(v_in, v_b, v_t, v_h, places, columns), mask=readable[:, None], other=0.0)
    dy = tl.load(_rows(dy_in, dy_b, dy_t, dy_h, places, columns), mask=is_query, other=0.0)
    p = _weights(q, k, places, readable, scale, is_causal)
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
            _launch(_forward, [q, k, v], readable, [y], [q, k, v, y], causal, scale)
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
            _launch(_backward, [q, k, v, dy], readable, [dq, dk, dv], [q, k, v, dy, dq, dk], ctx.causal, ctx.scale)
        return dq, dk, dv, None, None, None


def _side_by_side(q: Tensor, k: Tensor) -> list[Tensor]:
    """Memory for the gradients of queries, keys and values: (B, T, 3, H, d), or the queries' apart."""
    sentences, heads, slots, width = k.shape
    count = 3 if q.shape == k.shape else 2
    packed = k.new_empty(sentences, slots, count, heads, width).permute(2, 0, 3, 1, 4).unbind()
    alone = [] if count == 3 else [q.new_empty(sentences, q.shape[2], heads, width).transpose(1, 2)]
    return [*alone, *packed]


def _launch(
    kernel: Any,
    inputs: list[Tensor],  # queries, keys, …
    readable: Tensor | None,
    outputs: list[Tensor],
    stepped: list[Tensor],  # the tensors whose steps between sentences, rows and heads the kernel needs
    causal: bool,
    scale: float,
) -> None:
    queries, keys = inputs[:2]
    sentences, heads, count, width = queries.shape
    mask = queries.view(torch.uint8) if readable is None else readable  # a pointer that is not read
    steps = [step for x in stepped for step in (x.stride(0), x.stride(2), x.stride(1))]
    numbers = count, keys.shape[2], int(readable is not None), int(causal), scale
    block = max(32, triton.next_power_of_2(max(count, keys.shape[2])))
    warps = 4 if block <= 64 else 8
    kernel[(heads, sentences)](*inputs, mask, *outputs, *numbers, *steps, BLOCK=block, WIDTH=width, num_warps=warps)
