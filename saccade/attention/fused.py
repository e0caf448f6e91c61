"""Fused reads, which never store the weights: SDPA wherever a mask suffices, FlexAttention on CUDA where a mask or a
bias would need memory that grows with T·S, and a kernel of our own for the few queries of a step of a search.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.bias import Bias
from saccade.attention.memory import Memory
from saccade.attention.windows import Window
from saccade.device import has_triton, without_cudnn_attention

# FlexAttention works in blocks of 128; below that a dense mask is cheaper than its bookkeeping.
_FLEX_SHORTEST = 128
_VARIANTS = 64
# SDPA's kernels read slots for 64 queries at once, even if there are fewer. Ours has one program for all queries of a
# head: those who read many slots need more than one.
_FEW_QUERIES, _FEW_SLOTS, _WIDEST = 16, 2048, 256


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
    if bias is None and not causal and not dropout and few_fit(queries, keys, values):
        from saccade.attention.few_queries_triton import attend

        return attend(queries.to(values.dtype), keys.to(values.dtype), values, allowed)
    reads_any = mask = None
    if allowed is not None:
        # A row with nothing to read would be NaN: it reads everything, and is then set to zero.
        reads_any = allowed.any(-1, keepdim=True)
        mask = allowed | ~reads_any
    if bias is not None:
        mask = bias.to(queries.dtype) if mask is None else bias.to(queries.dtype).masked_fill(~mask, float("-inf"))
    if queries.dtype != values.dtype:
        queries, keys = queries.to(values.dtype), keys.to(values.dtype)
    if mask is not None:
        mask = mask.expand(-1, -1, queries.shape[2], -1)
        mask = mask if mask.dtype == torch.bool else mask.to(queries.dtype)
    # Kernels require one width: zeros change no product, and those of the values are cut off again.
    read = values.shape[-1]
    widest = max(queries.shape[-1], read)
    queries, keys, values = (  # a pad by nothing would copy
        F.pad(x, (0, widest - x.shape[-1])) if x.shape[-1] < widest else x for x in (queries, keys, values)
    )
    grouped = queries.shape[1] != keys.shape[1]
    if grouped and queries.is_cuda and queries.dtype == torch.float32:
        # Only half precision has a kernel for groups there; the fallback would store all scores.
        keys, values = (x.repeat_interleave(queries.shape[1] // x.shape[1], 1) for x in (keys, values))
        grouped = False
    with _right_kernels(queries):
        context = F.scaled_dot_product_attention(
            queries, keys, values, mask, dropout, causal, scale=1.0, enable_gqa=grouped
        )[..., :read]
    return context if reads_any is None else context.masked_fill(~reads_any, 0.0)


def _right_kernels(queries: Tensor) -> AbstractContextManager[None]:
    """Torch's own: in torch 2.11, the gradients that cuDNN computes for single queries in half precision are NaN."""
    is_outside = not queries.is_cuda or torch.compiler.is_compiling()
    return nullcontext() if is_outside else without_cudnn_attention()


def few_fit(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether the kernel for few queries, which has no gradient, can read these, and pays."""
    return (
        queries.is_cuda
        and has_triton()
        and not torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
        and values.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and queries.shape[1] * queries.shape[2] <= _FEW_QUERIES * keys.shape[1]
        and keys.shape[2] <= _FEW_SLOTS
        and max(keys.shape[3], values.shape[3]) <= _WIDEST
    )


def flex_fits(shortest: int, width: int, values: Tensor) -> bool:
    """Whether FlexAttention has kernels for these widths and types, and pays at this length."""
    return (
        values.is_cuda
        and shortest >= _FLEX_SHORTEST
        and values.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and all(w >= 16 and w & (w - 1) == 0 for w in (width, values.shape[-1]))
    )


@cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return torch.compile(flex_attention, dynamic=True), torch.compile(create_block_mask, dynamic=True)


def flex(queries: Tensor, keys: Tensor, memory: Memory, query_at: Tensor, window: Window, bias: Bias | None) -> Tensor:
    """(B, H, Q, e), like `sdpa`, but the kernel evaluates the rules of window and bias."""
    flex_attention, create_block_mask = _compiled()
    readable, sentences = memory.readable, memory.sentences
    query_at, key_at = query_at.expand(sentences, -1), memory.positions.expand(sentences, -1)

    def may_read(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        allowed = window.rule(b, query_at[b, q], key_at[b, k])
        return allowed if readable is None else allowed & readable[b, k]

    def biased(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        assert bias is not None
        return score + bias.rule(h, query_at[b, q], key_at[b, k]).to(score.dtype)

    with _many_variants():
        mask = create_block_mask(may_read, sentences, None, queries.shape[2], keys.shape[2], device=queries.device)
        context: Tensor = flex_attention(
            queries.to(memory.values.dtype),
            keys.to(memory.values.dtype),
            memory.values,
            score_mod=None if bias is None else biased,
            block_mask=mask,
            scale=1.0,
            enable_gqa=queries.shape[1] != keys.shape[1],
        )
    return context


def _many_variants() -> AbstractContextManager[object]:
    """Each window, bias and mask is a variant of its own. Dynamo keeps 8 by default, and fuses nothing after that."""
    if torch.compiler.is_compiling():  # the limit is that of the outer compilation
        return nullcontext()
    from torch._dynamo import config

    patch: AbstractContextManager[object] = config.patch(recompile_limit=max(config.recompile_limit, _VARIANTS))
    return patch
