"""The kernels of `steps.py`: one sentence per program, or some of its slots or columns. All sums are in float32."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_SLOTS = 4  # of a program that scores
_TILE = 4096  # numbers of the memory that a program reads at once


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _score(
    queries, keys, v, scores_out, slots, width, ADDITIVE: tl.constexpr, SLOTS: tl.constexpr, BLOCK: tl.constexpr
):
    # e_s = v·tanh(q + k_s) or q·k_s
    row = tl.program_id(0).to(tl.int64)
    slot = tl.program_id(1) * SLOTS + tl.arange(0, SLOTS)
    total = tl.zeros((SLOTS,), tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < width
        query = tl.load(queries + row * width + columns, mask=inside, other=0.0).to(tl.float32)
        place = (row * slots + slot)[:, None] * width + columns[None]
        key = tl.load(keys + place, mask=(slot < slots)[:, None] & inside[None], other=0.0).to(tl.float32)
        if ADDITIVE:
            weight = tl.load(v + columns, mask=inside, other=0.0).to(tl.float32)
            total += tl.sum(weight[None] * tanh(query[None] + key), 1)
        else:
            total += tl.sum(query[None] * key, 1)
    tl.store(scores_out + row * slots + slot, total, mask=slot < slots)


@triton.jit
def _read(
    scores,
    readable,
    values,
    weights_out,
    context_out,
    slots,
    width,
    MASKED: tl.constexpr,
    SLOTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # α = softmax(e) over the readable slots, c = Σ α_s v_s; every program of a sentence computes α again
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    slot = tl.arange(0, SLOTS)
    is_open = slot < slots
    if MASKED:
        is_open = is_open & (tl.load(readable + row * slots + slot, mask=is_open, other=0) != 0)
    # Loaded before the softmax, which takes as long.
    columns = part * BLOCK + tl.arange(0, BLOCK)
    place = (row * slots + slot)[:, None] * width + columns[None]
    value = tl.load(values + place, mask=is_open[:, None] & (columns < width)[None], other=0.0).to(tl.float32)
    score = tl.load(scores + row * slots + slot, mask=is_open, other=float("-inf"))
    largest = tl.max(score, 0)
    weight = tl.exp(score - tl.where(largest == float("-inf"), 0.0, largest))
    total = tl.sum(weight, 0)
    weight = weight / tl.where(total == 0.0, 1.0, total)  # with nothing to read, all are 0
    if part == 0:
        tl.store(weights_out + row * slots + slot, weight, mask=slot < slots)
    context = tl.sum(weight[:, None] * value, 0)
    tl.store(context_out + row * width + columns, context.to(context_out.dtype.element_ty), mask=columns < width)


@triton.jit
def _of_query(
    weights,
    of_weights,
    queries,
    keys,
    v,
    of_scores_out,
    of_query_out,
    slots,
    width,
    ADDITIVE: tl.constexpr,
    SLOTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # ∂e = α∘(∂α − α·∂α), ∂q = v∘Σ ∂e_s (1 − tanh²(q + k_s)) or Σ ∂e_s k_s
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    slot = tl.arange(0, SLOTS)
    columns = part * BLOCK + tl.arange(0, BLOCK)
    inside = columns < width
    place = (row * slots + slot)[:, None] * width + columns[None]
    key = tl.load(keys + place, mask=(slot < slots)[:, None] & inside[None], other=0.0).to(tl.float32)
    weight = tl.load(weights + row * slots + slot, mask=slot < slots, other=0.0)
    of_weight = tl.load(of_weights + row * slots + slot, mask=slot < slots, other=0.0)
    of_score = weight * (of_weight - tl.sum(weight * of_weight, 0))
    if part == 0:
        tl.store(of_scores_out + row * slots + slot, of_score, mask=slot < slots)
    if ADDITIVE:
        query = tl.load(queries + row * width + columns, mask=inside, other=0.0).to(tl.float32)
        hidden = tanh(query[None] + key)
        slope = tl.load(v + columns, mask=inside, other=0.0).to(tl.float32)
        of_query = slope * tl.sum(of_score[:, None] * (1 - hidden * hidden), 0)
    else:
        of_query = tl.sum(of_score[:, None] * key, 0)
    tl.store(of_query_out + row * width + columns, of_query.to(of_query_out.dtype.element_ty), mask=inside)


@triton.jit
def _of_keys(
    of_scores,
    queries,
    keys,
    v,
    of_keys_out,
    of_v_out,
    steps,
    rows,
    slots,
    width,
    SLOTS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    # ∂k_s = v∘Σ_t ∂e_ts (1 − tanh²(q_t + k_s)), ∂v = Σ_ts ∂e_ts tanh(q_t + k_s)
    row = tl.program_id(0).to(tl.int64)
    columns, slot = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.program_id(2) * SLOTS + tl.arange(0, SLOTS)
    inside, is_slot = columns < width, slot < slots
    place = (row * slots + slot)[:, None] * width + columns[None]
    both = is_slot[:, None] & inside[None]
    key = tl.load(keys + place, mask=both, other=0.0).to(tl.float32)
    of_key = tl.zeros((SLOTS, BLOCK), tl.float32)
    of_v = tl.zeros((SLOTS, BLOCK), tl.float32)
    for step in range(steps):
        at = step * rows + row
        query = tl.load(queries + at * width + columns, mask=inside, other=0.0).to(tl.float32)
        of_score = tl.load(of_scores + at * slots + slot, mask=is_slot, other=0.0)
        hidden = tanh(query[None] + key)
        of_key += of_score[:, None] * (1 - hidden * hidden)
        of_v += of_score[:, None] * hidden
    slope = tl.load(v + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(of_keys_out + place, (of_key * slope[None]).to(of_keys_out.dtype.element_ty), mask=both)
    part = row * tl.num_programs(2) + tl.program_id(2)
    tl.store(of_v_out + part * width + columns, tl.sum(of_v, 0), mask=inside)


def score(queries: Tensor, keys: Tensor, v: Tensor | None) -> Tensor:
    """(B, S) of queries (B, d), keys (B, S, d), and v (d) of an additive score; None: an inner product"""
    rows, slots, width = keys.shape
    scores = torch.empty(rows, slots, dtype=torch.float32, device=keys.device)
    block = min(triton.next_power_of_2(width), _TILE // _SLOTS)
    _score[rows, triton.cdiv(slots, _SLOTS)](
        queries, keys, queries if v is None else v, scores, slots, width, v is not None, _SLOTS, block
    )
    return scores


def read(scores: Tensor, readable: Tensor | None, values: Tensor) -> tuple[Tensor, Tensor]:
    """The weights (B, S), the context (B, e)"""
    rows, slots, width = values.shape
    weights, context = torch.empty_like(scores), values.new_empty(rows, width)
    sizes = _sizes(slots, width)
    _read[rows, triton.cdiv(width, sizes[1])](
        scores, scores if readable is None else readable, values, weights, context, slots, width,
        readable is not None, *sizes,
    )  # fmt: skip
    return weights, context


def derive_score(
    weights: Tensor, of_weights: Tensor, queries: Tensor, keys: Tensor, v: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The gradients of the scores (B, S) and of the queries (B, d)"""
    rows, slots, width = keys.shape
    of_scores, of_queries = torch.empty_like(weights), queries.new_empty(rows, width)
    sizes = _sizes(slots, width)
    _of_query[rows, triton.cdiv(width, sizes[1])](
        weights, of_weights, queries, keys, queries if v is None else v, of_scores, of_queries,
        slots, width, v is not None, *sizes,
    )  # fmt: skip
    return of_scores, of_queries


def derive_keys(of_scores: Tensor, queries: Tensor, keys: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the keys (B, S, d) and of v (d) of an additive score, from of_scores (T, B, S) and queries
    (T, B, d) of all steps
    """
    (steps, rows, slots), width = of_scores.shape, keys.shape[-1]
    together, block = min(triton.next_power_of_2(slots), 32), 64
    parts = triton.cdiv(slots, together)
    of_keys = torch.empty_like(keys)
    of_v = torch.empty(rows * parts, width, dtype=torch.float32, device=keys.device)
    _of_keys[rows, triton.cdiv(width, block), parts](
        of_scores, queries, keys, v, of_keys, of_v, steps, rows, slots, width, together, block
    )
    return of_keys, of_v.sum(0)


def _sizes(slots: int, width: int) -> tuple[int, int]:
    """Slots and columns of a program that reads all slots of a sentence"""
    together = triton.next_power_of_2(slots)
    return together, max(16, min(triton.next_power_of_2(width), _TILE // together))
