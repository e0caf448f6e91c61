"""Attention over few slots in training on CUDA: its projections in one product, and one kernel for each pass.

Torch's kernels read blocks of 128 slots, need a mask of (B, H, T, S) for padding, and write three separate gradients,
which are then added up. `short_triton.py` has the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from saccade.attention.heads import merge, split
from saccade.attention.memory import Memory
from saccade.attention.normalisers import Softmax
from saccade.attention.scores import Dot, ScaledDot
from saccade.attention.trace import tracing
from saccade.attention.windows import Causal, Everywhere
from saccade.device import has_triton
from saccade.products import FastLinear

if TYPE_CHECKING:
    from saccade.attention.attention import Attention

LONGEST = 128  # queries and slots: all scores of a sentence and head must fit into the registers of a program
_WIDTHS = (16, 32, 64, 128)  # of one head


def attend_itself(attention: Attention, x: Tensor, readable: Tensor | None = None) -> Tensor:
    """The context of each vector of x (B, T, D) in a memory of all of them. Those that are not readable are finite."""
    projections = attention.of_queries, attention.of_keys, attention.of_values
    reason = why_not_short(attention, x) or why_not_one_product(x, projections)
    widths = {getattr(projection, "out_features", None) for projection in projections}
    if reason is not None or len(widths) > 1 or not 0 < x.shape[1] <= LONGEST or tracing():
        context: Tensor = attention(x, attention.remember(x, readable)).context
        return context
    queries, keys, values = (split(side, attention.heads) for side in project_together(x, projections))
    return read_short(attention, queries, Memory(keys, values, readable))


def read_short(attention: Attention, by_head: Tensor, memory: Memory) -> Tensor:
    """The context of queries (B, H, T, d)"""
    from saccade.attention.short_triton import ShortAttention

    scale = 1 / math.sqrt(by_head.shape[-1]) if isinstance(attention.score, ScaledDot) else 1.0
    function: type[torch.autograd.Function] = ShortAttention
    causal = isinstance(attention.window, Causal)
    queries = by_head.to(memory.keys.dtype)  # of an attention that projects only its memory
    context = function.apply(queries, memory.keys, memory.values, memory.readable, causal, scale)
    read: Tensor = attention.of_output(merge(context))
    return read


def can_read_short(attention: Attention, queries: Tensor, memory: Memory, at: object) -> bool:
    """Whether `read_short` reads a memory that was made by `remember`."""
    return (
        why_not_short(attention, queries) is None
        and max(queries.shape[1], memory.length) <= LONGEST
        and memory.values.shape[-1] == memory.keys.shape[-1]
        and memory.values.dtype == memory.keys.dtype == torch.get_autocast_dtype("cuda")
        and (at is None and memory.at is None and memory.readers == 1 and memory.by_reader is None)
    )


def why_not_short(attention: Attention, x: Tensor) -> str | None:
    """The reason why torch's kernels read a short memory, or None."""
    if not x.is_cuda:
        return f"the device is {x.device.type}"
    if not (torch.is_autocast_enabled("cuda") and torch.is_grad_enabled()):
        return "it is for training in half precision"
    if torch.compiler.is_compiling():
        return "the model is compiled"
    if type(attention.score) not in (Dot, ScaledDot) or type(attention.normaliser) is not Softmax:
        return "it is not a softmax of inner products"
    if type(attention.window) not in (Everywhere, Causal) or attention.bias is not None:
        return "it depends on distances"
    if attention.positions is not None:
        return "it rotates queries and keys"
    if attention.dropout and attention.training:
        return "it drops weights"
    if attention.heads != attention.memory_heads or attention.head_width not in _WIDTHS or attention.per_head:
        return "there is no kernel for these heads"
    return None if has_triton() else "there is no Triton"


def project_memory(attention: Attention, source: Tensor, values: Tensor | None) -> Sequence[Tensor]:
    """Keys and values (B, S, ·) of a source, which is read for both, or for the keys alone."""
    projections = attention.of_keys, attention.of_values
    if values is None and why_not_one_product(source, projections) is None:
        return project_together(source, projections)
    return attention.of_keys(source), attention.of_values(source if values is None else values)


def why_not_one_product(x: Tensor, projections: Sequence[nn.Module]) -> str | None:
    """The reason why each projection of x is a product of its own, or None."""
    if not x.is_cuda or not torch.is_autocast_enabled("cuda") or not torch.is_grad_enabled():
        return "it is for training in half precision on CUDA"
    if torch.compiler.is_compiling():
        return "the model is compiled"
    return None if are_linear(projections) else "there are not as many projections"


def are_linear(projections: Sequence[nn.Module]) -> bool:
    """Whether each computes x Wᵀ + b; another subclass may not."""
    return all(type(projection) in (nn.Linear, FastLinear) for projection in projections)


def project_together(x: Tensor, projections: Sequence[nn.Module]) -> Sequence[Tensor]:
    """The projections of x, from one product with all matrices."""
    weights, biases = zip(*((projection.weight, projection.bias) for projection in projections), strict=True)
    bias = None if biases[0] is None else torch.cat(biases)
    sizes = [len(weight) for weight in weights]
    unpack: type[torch.autograd.Function] = _Unpack
    unpacked: Sequence[Tensor] = unpack.apply(F.linear(x, torch.cat(weights), bias), sizes)
    return unpacked


class _Unpack(torch.autograd.Function):
    """Views of parts of the last axis. Gradients that lie side by side are not copied together again."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, sizes: list[int]) -> tuple[Tensor, ...]:
        ctx.sizes = sizes
        return torch.split(packed, sizes, -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        first, places = gradients[0], [gradient.storage_offset() for gradient in gradients]
        is_together = all(
            gradient.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
            and gradient.stride() == first.stride()
            and place == places[0] + sum(ctx.sizes[:number])
            for number, (gradient, place) in enumerate(zip(gradients, places, strict=True))
        )
        if is_together and first.stride(-1) == 1:
            return first.as_strided((*first.shape[:-1], sum(ctx.sizes)), first.stride()), None
        return torch.cat(gradients, -1), None
