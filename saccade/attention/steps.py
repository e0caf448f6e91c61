"""One reading of a decoder's loop in training, on CUDA: two kernels forward and two back for score, softmax and read,
and the gradients of keys, values and v once for all steps.

    e_s = v·tanh(q + k_s) or q·k_s,  α = softmax(e),  c = Σ_s α_s v_s
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.attention.memory import Memory
from saccade.attention.normalisers import Softmax
from saccade.attention.scores import Additive, DotScore, Score
from saccade.attention.windows import Everywhere
from saccade.device import has_triton
from saccade.loops import Loop, StepRecord, current_loop, make_slots

if TYPE_CHECKING:
    from saccade.attention.attention import Attention

_MOST_SLOTS = 512  # that a program weighs at once; longer sources are read as usual


def why_not_stepped(attention: Attention, keys: Tensor) -> str | None:
    """The reason why a step of a loop is read as any other query, or None."""
    if not keys.is_cuda:
        return f"the device is {keys.device.type}"
    if not _has_kernel(attention.score):
        return f"the score {attention.score.name!r} has no kernel for one step"
    if type(attention.normaliser) is not Softmax:
        return f"the normaliser {attention.normaliser.name!r} is not a softmax"
    if type(attention.window) is not Everywhere or attention.bias is not None or attention.positions is not None:
        return "the score depends on positions"
    if attention.heads > 1:
        return "there are several heads"
    if attention.dropout and attention.training:
        return "weights are dropped"
    return None if has_triton() and keys.dtype != torch.float64 else "there is no kernel for it"


def _has_kernel(score: Score) -> bool:
    if type(score) is Additive:
        return score.b is None and score.gain is None
    return isinstance(score, DotScore) and type(score).vectors is DotScore.vectors


def find_steps(attention: Attention, queries: Tensor, memory: Memory) -> ReadSteps | None:
    """The steps of an open loop that queries (B, 1, ·) of this memory belong to, if they are read in this way."""
    loop = current_loop()
    if loop is None or memory.by_reader is not None or queries.shape[:2] != (memory.sentences, 1):
        return None
    if why_not_stepped(attention, memory.keys) is not None or not 0 < memory.length <= _MOST_SLOTS:
        return None
    steps = loop.share(memory.keys, lambda: ReadSteps(attention, memory, loop))
    return steps if steps.slots else None


class ReadSteps:
    """The readings of one memory in one loop: `context = steps(queries)`."""

    def __init__(self, attention: Attention, memory: Memory, loop: Loop) -> None:
        device, score = memory.keys.device.type, attention.score
        mixed = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
        self.dtype = torch.get_autocast_dtype(device) if mixed else memory.keys.dtype
        keys, values = (side.squeeze(1).to(self.dtype).contiguous() for side in (memory.keys, memory.values))
        v = score.v[0] if isinstance(score, Additive) else None
        self.record = _Readings(keys.detach(), values.detach(), None if v is None else v.detach(), memory.readable)
        shapes = (keys.shape[:2], torch.float32), (values.shape[::2], values.dtype)  # ∂e (B, S), ∂c (B, e)
        kinds = [((loop.steps, *shape), dtype) for shape, dtype in shapes]
        self.slots = make_slots(self.record, (keys, values, v), kinds)

    def __call__(self, queries: Tensor) -> Tensor:
        """(B, d) → (B, e)"""
        queries = queries.to(self.dtype).contiguous()
        return cast(Tensor, _Step.apply(self.record, queries, *self.slots.pop()))  # type: ignore[no-untyped-call]


class _Readings(StepRecord):
    """A memory, and how it was read so far"""

    def __init__(self, keys: Tensor, values: Tensor, v: Tensor | None, readable: Tensor | None) -> None:
        self.keys, self.values, self.v = keys, values, v
        self.readable = None if readable is None else readable.contiguous()
        self.queries: list[Tensor] = []  # (B, d)
        self.weights: list[Tensor] = []  # (B, S)

    def of_shared(self, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from saccade.attention import steps_triton

        of_scores, of_contexts = (gradient[: len(self.queries)] for gradient in gradients)  # (T, B, S), (T, B, e)
        queries, weights = torch.stack(self.queries), torch.stack(self.weights)
        of_values = _sum_over_steps(weights, of_contexts)
        if self.v is None:
            return _sum_over_steps(of_scores, queries), of_values, None
        of_keys, of_v = steps_triton.derive_keys(of_scores.contiguous(), queries, self.keys, self.v)
        return of_keys, of_values, of_v.to(self.v.dtype)


def _sum_over_steps(by_slot: Tensor, vectors: Tensor) -> Tensor:
    """(T, B, S), (T, B, d) → Σ_t (B, S, d)"""
    return by_slot.permute(1, 2, 0).to(vectors.dtype) @ vectors.transpose(0, 1)


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, record: _Readings, queries: Tensor, *slots: Tensor) -> Tensor:
        from saccade.attention import steps_triton

        weights, context = steps_triton.read(
            steps_triton.score(queries, record.keys, record.v), record.readable, record.values
        )
        record.queries.append(queries.detach())
        record.weights.append(weights)
        ctx.record = record
        ctx.save_for_backward(queries, weights)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_context: Tensor) -> tuple[Tensor | None, ...]:
        from saccade.attention import steps_triton

        record: _Readings = ctx.record
        queries, weights = ctx.saved_tensors
        of_weights = steps_triton.score(of_context.contiguous(), record.values, None)
        of_scores, of_queries = steps_triton.derive_score(weights, of_weights, queries, record.keys, record.v)
        return None, of_queries, of_scores, of_context
