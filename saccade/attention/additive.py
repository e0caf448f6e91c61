"""v·tanh(q + k) on a CPU, without storing the hidden layer (B, H, Q, S, d), and with its gradients written out.

A CPU computes a sigmoid six times as fast as a tanh. With σ = sigmoid(2(q + k)), tanh(q + k) = 2σ − 1, so

    e = 2 v·σ − Σ v        ∂e/∂q = ∂e/∂k = 4 v∘(σ − σ²)        ∂e/∂v = 2σ − 1

The hidden layer is computed again in the backward pass: that is faster than new memory for it.
"""

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_HIDDEN_AT_ONCE = 1 << 18  # 1 MB in float32, which stays in the cache between the passes


def why_not_additive_on_cpu(queries: Tensor) -> str | None:
    """The reason why the plain score is computed, or None if this one is."""
    if not queries.is_cpu:
        return f"the device is {queries.device.type}"
    if torch.is_autocast_enabled("cpu") or queries.dtype not in (torch.float32, torch.float64):
        return "the precision is mixed"
    if torch.compiler.is_compiling():
        return "the model is compiled"
    return None


def score_additively(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """(B, H, Q, S) of queries (B, H, Q, d), keys (B, H, S, d), and v (H or 1, d)"""
    return cast(Tensor, _AdditiveScore.apply(queries, keys, v))  # type: ignore[no-untyped-call]


class _AdditiveScore(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, v)
        scores = queries.new_empty(*queries.shape[:3], keys.shape[2])
        for hidden, part in _hidden_layers(queries, keys, scores):
            if v.shape[0] == 1:  # one product with a vector is faster than many small ones
                torch.mv(hidden.view(-1, hidden.shape[-1]), v[0], out=part.view(-1))
            else:
                torch.matmul(hidden, v[:, None, :, None], out=part[..., None])
        return scores.mul_(2).sub_(v.sum(-1)[:, None, None])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, v = ctx.saved_tensors
        of_scores = of_scores.contiguous()
        of_queries, of_keys = torch.empty_like(queries), torch.empty_like(keys)
        of_v = queries.new_zeros(queries.shape[1], 1, v.shape[-1])
        slopes = 4 * v[:, None]  # (H or 1, 1, d)
        for hidden, part, of_q, of_k in _hidden_layers(queries, keys, of_scores, of_queries, of_keys):
            weights, layers = (x.transpose(0, 1).flatten(1, 3) for x in (part, hidden))  # (H, rows), (H, rows, d)
            of_v += torch.bmm(weights[:, None], layers)
            slope = torch.addcmul(hidden, hidden, hidden, value=-1, out=hidden).mul_(part[..., None])
            torch.mul(slope.sum(3), slopes, out=of_q)
            torch.mul(slope.sum(2) if slope.shape[2] > 1 else slope.squeeze(2), slopes, out=of_k)
        of_v = of_v.mul_(2).sub_(of_scores.sum((0, 2, 3))[:, None, None]).squeeze(1)
        return of_queries, of_keys, of_v.sum_to_size(v.shape)


def _hidden_layers(queries: Tensor, keys: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """σ (·, H, Q, S, d) for a few sentences at a time, in memory that the next ones use again; and their part of other
    tensors (B, …)
    """
    (sentences, heads, count, width), slots = queries.shape, keys.shape[2]
    together = max(1, _HIDDEN_AT_ONCE // max(1, heads * count * slots * width))
    hidden = queries.new_empty(min(together, sentences), heads, count, slots, width)
    for q, k, *parts in zip(*(torch.split(x, together) for x in (2 * queries, keys, *others)), strict=True):
        layer = torch.add(q[:, :, :, None], k[:, :, None], alpha=2, out=hidden[: len(q)])
        yield layer.sigmoid_(), *parts
