"""The cross-entropy of two predictions of the same tokens, and how far they diverge, from one pass over the logits.

For the logits x and y of a token, with p = softmax(x), q = softmax(y) and d = log p − log q:

    KL(p‖q) = Σ_v p_v d_v                    ∂/∂x_v = p_v (d_v − KL(p‖q))        ∂/∂y_v = q_v − p_v
    KL(q‖p) = −Σ_v q_v d_v                   ∂/∂x_v = p_v − q_v                  ∂/∂y_v = −q_v (d_v + KL(q‖p))

The gradients of the cross-entropies are those of `cross_entropy.py`. Autograd alone would keep six tensors of the size
of the logits in float32; here the forward pass keeps the logits. On CUDA, two Triton kernels compute the same.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.device import has_triton


class PairWeights(NamedTuple):
    """The loss is Σ a·CE(p) + b·CE(q) + c·KL(p‖q) + d·KL(q‖p) over the tokens."""

    first: float  # a
    second: float  # b
    forward: float  # c
    backward: float  # d


def paired_cross_entropy(
    logits: Tensor, wanted: Tensor, weights: PairWeights, *, ignored: int, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """logits (2N, V), of which the rows n and N + n predict wanted (N,) → the loss, summed over the rows, and the plain
    cross-entropy a·CE(p) + b·CE(q) of each row (N,), without smoothing, both in float32 (float64 for float64). Rows
    that want `ignored` count 0. Only the sum has a gradient."""
    function: type[torch.autograd.Function] = PlainPairedCrossEntropy
    if logits.is_cuda and logits.dtype != torch.float64 and has_triton():
        from saccade.layers.paired_cross_entropy_triton import FusedPairedCrossEntropy

        function = FusedPairedCrossEntropy
    loss, plain = function.apply(logits, wanted, weights, ignored, smoothing)
    return loss, plain


class PlainPairedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, wanted: Tensor, weights: PairWeights, ignored: int, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        p, q = _log_probs(logits)  # log p, log q
        counts = wanted != ignored
        ctx.save_for_backward(logits, wanted, counts)
        ctx.weights, ctx.smoothing = weights, smoothing
        plain = sum(
            -weight * log_probs.gather(1, wanted[:, None]).squeeze(1)
            for log_probs, weight in ((p, weights.first), (q, weights.second))
        )
        uniform = -weights.first * p.mean(-1) - weights.second * q.mean(-1)
        forward, backward = _divergences(p, q)
        divergence = weights.forward * forward + weights.backward * backward
        loss = ((1 - smoothing) * plain + smoothing * uniform + divergence).masked_fill(~counts, 0.0).sum()
        assert isinstance(plain, Tensor)
        plain = plain.masked_fill(~counts, 0.0)
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        (logits, wanted, counts), weights, smoothing = ctx.saved_tensors, ctx.weights, ctx.smoothing
        log_p, log_q = _log_probs(logits)
        forward, backward = _divergences(log_p, log_q)
        d, p, q = log_p - log_q, log_p.exp(), log_q.exp()
        of_first = weights.forward * p * (d - forward[:, None]) + weights.backward * (p - q)
        of_second = weights.forward * (q - p) - weights.backward * q * (d + backward[:, None])
        for gradient, probs, weight in ((of_first, p, weights.first), (of_second, q, weights.second)):
            gradient += weight * (probs - smoothing / probs.shape[1])
            gradient.scatter_add_(1, wanted[:, None], gradient.new_full((len(wanted), 1), weight * (smoothing - 1)))
            gradient *= (gradients[0] * counts)[:, None]
        return torch.cat([of_first, of_second]).to(logits.dtype), None, None, None, None


def _log_probs(logits: Tensor) -> tuple[Tensor, Tensor]:
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    first, second = torch.log_softmax(logits, -1, dtype=wide).chunk(2)
    return first, second


def _divergences(log_p: Tensor, log_q: Tensor) -> tuple[Tensor, Tensor]:
    """KL(p‖q) and KL(q‖p) of each row (N,)"""
    d = log_p - log_q
    return (log_p.exp() * d).sum(-1), -(log_q.exp() * d).sum(-1)
