"""Fused reads: weights that are never stored. SDPA wherever a mask can say it, FlexAttention on CUDA where a mask or a
bias would cost memory that grows with T·S.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

# FlexAttention works in blocks of 128; below that a dense mask is cheaper than its bookkeeping.
_FLEX_SHORTEST = 128


def sdpa(
    queries: Tensor,  # (B, H, Q, d)
    keys: Tensor,  # (B, G, S, d)
    values: Tensor,  # (B, G, S, e)
    *,
    allowed: Tensor | None,  # broadcastable to (B, H, Q, S), bool
    bias: Tensor | None,  # broadcastable to (B, H, Q, S)
    causal: bool,
    dropout: float,
) -> Tensor:
    """(B, H, Q, e): softmax(queries·keysᵀ + bias) · values."""
    some = mask = None
    if allowed is not None:
        # A row with nothing to read would be NaN: it reads everything, and is then set to zero.
        some = allowed.any(-1, keepdim=True)
        mask = allowed | ~some
    if bias is not None:
        mask = bias.to(queries.dtype) if mask is None else bias.to(queries.dtype).masked_fill(~mask, float("-inf"))
    if queries.dtype != values.dtype:
        queries, keys = queries.to(values.dtype), keys.to(values.dtype)
    if mask is not None:
        mask = mask.expand(-1, -1, queries.shape[2], -1)
        mask = mask if mask.dtype == torch.bool else mask.to(queries.dtype)
    context = F.scaled_dot_product_attention(
        queries, keys, values, mask, dropout, causal, scale=1.0, enable_gqa=queries.shape[1] != keys.shape[1]
    )
    return context if some is None else context.masked_fill(~some, 0.0)


def flex_fits(shortest: int, width: int, values: Tensor) -> bool:
    """FlexAttention has kernels for keys of such a width and such values, and pays at such a length."""
    return (
        values.is_cuda
        and shortest >= _FLEX_SHORTEST
        and values.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and all(w >= 16 and w & (w - 1) == 0 for w in (width, values.shape[-1]))
    )


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return torch.compile(flex_attention, dynamic=False), torch.compile(create_block_mask, dynamic=False)


def flex(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    may_read: Callable[[Tensor, Tensor, Tensor], Tensor],  # (sentence, query index, slot index) → bool
    bias: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] | None,  # (sentence, head, query index, slot index)
) -> Tensor:
    """(B, H, Q, e), as `sdpa`, for rules by position that are evaluated inside the kernel."""
    flex_attention, create_block_mask = _compiled()

    def mask_mod(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return may_read(b, q, k)

    def score_mod(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        assert bias is not None
        return score + bias(b, h, q, k).to(score.dtype)

    block_mask = create_block_mask(
        mask_mod, queries.shape[0], None, queries.shape[2], keys.shape[2], device=queries.device
    )
    context: Tensor = flex_attention(
        queries.to(values.dtype),
        keys.to(values.dtype),
        values,
        score_mod=None if bias is None else score_mod,
        block_mask=block_mask,
        scale=1.0,
        enable_gqa=queries.shape[1] != keys.shape[1],
    )
    return context
