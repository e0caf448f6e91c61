"""Cross-entropy with label smoothing (Szegedy 2016), plain and smoothed from one pass over the logits x:

    plain    = lse − x_y,  lse = log Σ_v exp x_v
    smoothed = (1 − ε)(lse − x_y) + ε (lse − mean_v x_v)
    ∂ smoothed / ∂ x_v = softmax(x)_v − ε/V − (1 − ε)[v = y]

The gradient is written over the only large tensor that the forward pass keeps. On CUDA, two Triton kernels read the
logits once each and keep none of them in float32.
"""

from typing import Any

import torch
from torch import Tensor

from saccade.device import has_triton


def cross_entropy(logits: Tensor, wanted: Tensor, *, ignored: int, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """logits (N, V), wanted (N,) → the smoothed loss, summed over the rows, and the plain loss of each row (N,), both
    in float32 (float64 for float64). Rows that want `ignored` count 0. Only the sum has a gradient."""
    function: type[torch.autograd.Function] = PlainCrossEntropy
    if logits.is_cuda and logits.dtype != torch.float64 and has_triton():
        from saccade.layers.cross_entropy_triton import FusedCrossEntropy

        function = FusedCrossEntropy
    loss, plain = function.apply(logits, wanted, ignored, smoothing)
    return loss, plain


class PlainCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, wanted: Tensor, ignored: int, smoothing: float) -> tuple[Tensor, Tensor]:
        wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
        log_probs = torch.log_softmax(logits, -1, dtype=wide)  # (N, V)
        counts = wanted != ignored
        plain = -log_probs.gather(1, wanted[:, None]).squeeze(1).masked_fill(~counts, 0.0)
        loss = plain.sum()
        if smoothing:
            uniform = -log_probs.mean(-1).masked_fill(~counts, 0.0)
            loss = (1 - smoothing) * loss + smoothing * uniform.sum()
        ctx.save_for_backward(log_probs, wanted, counts)
        ctx.smoothing, ctx.dtype = smoothing, logits.dtype
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (log_probs, wanted, counts), smoothing = ctx.saved_tensors, ctx.smoothing
        scale = gradients[0] * counts  # (N,)
        gradient = log_probs.exp_()  # a second backward pass would need what is overwritten here, and fails
        if smoothing:
            gradient -= smoothing / gradient.shape[1]
        gradient.scatter_add_(1, wanted[:, None], torch.full_like(wanted[:, None], smoothing - 1, dtype=gradient.dtype))
        gradient *= scale[:, None]
        return gradient.to(ctx.dtype), None, None, None
