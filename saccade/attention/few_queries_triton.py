"""Softmax attention of few queries to many slots, as in a step of a search, and the writing of their own slots: two
Triton kernels.

Every key and value is read once: one program reads the slots of one sentence and one key/value head, for all queries of
all heads that share it. Blocks of slots that no query may read, such as those of steps to come, are skipped.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_LEAST = 16  # the smallest side of a product of two tiles
_SLOTS = 32  # that are read at once
_WARPS, _STAGES = 1, 3


@triton.jit(do_not_specialize=["slots", "mask_b", "mask_h", "mask_q", "mask_s"])
def _read(
    queries, keys, values, mask, out, slots,
    query_b, query_h, query_q, key_b, key_g, key_s, value_b, value_g, value_s,  # strides
    mask_b, mask_h, mask_q, mask_s,
    GROUPS: tl.constexpr,
    HEADS: tl.constexpr,  # of a group
    COUNT: tl.constexpr,  # queries of a head
    WIDTH: tl.constexpr,
    READ: tl.constexpr,  # the width of the values
    HAS_MASK: tl.constexpr,
    ROWS: tl.constexpr,
    SLOTS: tl.constexpr,
    WIDE: tl.constexpr,
    READ_WIDE: tl.constexpr,
):  # fmt: skip
    b, g = (tl.program_id(0) // GROUPS).to(tl.int64), tl.program_id(0) % GROUPS
    row = tl.arange(0, ROWS)  # of the tile: the queries of the group's first head, of its second, …
    head, query = g * HEADS + row // COUNT, row % COUNT
    is_row = row < HEADS * COUNT
    d, e, s = tl.arange(0, WIDE), tl.arange(0, READ_WIDE), tl.arange(0, SLOTS)
    q = tl.load(
        queries + b * query_b + (head * query_h + query * query_q)[:, None] + d[None, :],
        mask=is_row[:, None] & (d < WIDTH)[None, :],
        other=0.0,
    )
    keys += b * key_b + g * key_g
    values += b * value_b + g * value_g
    mask += b * mask_b
    of_row = head * mask_h + query * mask_q
    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)  # Σ exp(score − largest)
    read = tl.zeros((ROWS, READ_WIDE), tl.float32)  # Σ exp(score − largest) · value
    for start in range(0, slots, SLOTS):
        slot = start + s
        allowed = is_row[:, None] & (slot < slots)[None, :]
        if HAS_MASK:
            allowed = tl.load(mask + of_row[:, None] + (slot * mask_s)[None, :], mask=allowed, other=0) != 0
        if tl.max(tl.max(allowed.to(tl.int32), 1), 0) > 0:
            inside = (slot < slots)[:, None]
            k = tl.load(keys + (slot * key_s)[:, None] + d[None, :], mask=inside & (d < WIDTH)[None, :], other=0.0)
            v = tl.load(values + (slot * value_s)[:, None] + e[None, :], mask=inside & (e < READ)[None, :], other=0.0)
            scores = tl.dot(q, tl.trans(k), input_precision="ieee")
            scores = tl.where(allowed, scores, float("-inf"))
            new = tl.maximum(largest, tl.max(scores, 1))
            base = tl.where(new == float("-inf"), 0.0, new)  # a row may have nothing to read
            shrink = tl.exp(largest - base)
            weights = tl.exp(scores - base[:, None])
            total = total * shrink + tl.sum(weights, 1)
            read = read * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
            largest = new
    read = read / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        out + ((b * COUNT + query) * GROUPS * HEADS + head)[:, None] * READ + e[None, :],
        read.to(out.dtype.element_ty),
        mask=is_row[:, None] & (e < READ)[None, :],
    )


def attend(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor | None) -> Tensor:
    """(B, H, Q, e): softmax(queries·keysᵀ)·values of queries (B, H, Q, d), keys (B, G, S, d) and values (B, G, S, e),
    where allowed, which is broadcastable to (B, H, Q, S); zero where nothing is."""
    sentences, heads, count, width = queries.shape
    groups, slots, read = keys.shape[1], keys.shape[2], values.shape[3]
    queries, keys, values = (x if x.stride(3) == 1 else x.contiguous() for x in (queries, keys, values))
    out = values.new_empty((sentences, count, heads, read))  # so that merging the heads copies nothing
    mask = out if allowed is None else allowed.expand(sentences, heads, count, slots).view(torch.uint8)
    _read[(sentences * groups,)](
        queries,
        keys,
        values,
        mask,
        out,
        slots,
        *queries.stride()[:3],
        *keys.stride()[:3],
        *values.stride()[:3],
        *((0, 0, 0, 0) if allowed is None else mask.stride()),
        GROUPS=groups,
        HEADS=heads // groups,
        COUNT=count,
        WIDTH=width,
        READ=read,
        HAS_MASK=allowed is not None,
        ROWS=max(_LEAST, triton.next_power_of_2(heads // groups * count)),
        SLOTS=_SLOTS,
        WIDE=max(_LEAST, triton.next_power_of_2(width)),
        READ_WIDE=max(_LEAST, triton.next_power_of_2(read)),
        num_warps=_WARPS,
        num_stages=_STAGES,
    )
    return out.transpose(1, 2)


@triton.jit
def _copy(
    stored,
    added,
    row,
    slot,
    stored_b,
    stored_g,
    stored_s,
    added_r,
    added_g,
    N: tl.constexpr,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.arange(0, BLOCK)
    g, d, inside = i // WIDTH, i % WIDTH, i < SIZE
    x = tl.load(added + row * added_r + g * added_g + d, mask=inside)
    tl.store(stored + row // N * stored_b + g * stored_g + slot * stored_s + d, x, mask=inside)


@triton.jit
def _write(
    keys,
    new_keys,
    values,
    new_values,
    at,
    key_b,
    key_g,
    key_s,
    new_key_r,
    new_key_g,
    value_b,
    value_g,
    value_s,
    new_value_r,
    new_value_g,
    N: tl.constexpr,
    WIDTH: tl.constexpr,
    READ: tl.constexpr,
    KEY: tl.constexpr,  # all heads together
    VALUE: tl.constexpr,
    KEY_BLOCK: tl.constexpr,
    VALUE_BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(at) * N + row % N
    _copy(keys, new_keys, row, slot, key_b, key_g, key_s, new_key_r, new_key_g, N, WIDTH, KEY, KEY_BLOCK)
    _copy(
        values, new_values, row, slot, value_b, value_g, value_s, new_value_r, new_value_g, N, READ, VALUE, VALUE_BLOCK
    )


def write(keys: tuple[Tensor, Tensor], values: tuple[Tensor, Tensor], at: Tensor) -> None:
    """Write new keys and values (B·N, G, 1, ·) into stored ones (B, G, steps·N, ·), as the slots of step `at` (1,)."""
    rows = len(keys[1])
    sides = [(stored, added if added.stride(3) == 1 else added.contiguous()) for stored, added in (keys, values)]
    strides = [(*stored.stride()[:3], *added.stride()[:2]) for stored, added in sides]
    widths = [stored.shape[3] for stored, _ in sides]
    sizes = [stored.shape[1] * stored.shape[3] for stored, _ in sides]
    blocks = [triton.next_power_of_2(size) for size in sizes]
    _write[(rows,)](
        *sides[0], *sides[1], at, *strides[0], *strides[1], rows // len(keys[0]), *widths, *sizes, *blocks, num_warps=1
    )
