"""The output layer and its cross-entropy together, for a few rows at a time: all logits are never stored.

For features x and logits z = W x + b, with label smoothing ε over V entries:

    ℓ = (1 − ε)·(log Σ exp z − z_y) + ε·(log Σ exp z − mean z)
    ∂ℓ/∂z = softmax z − (1 − ε)·onehot(y) − ε/V

The loss is one number, so its gradients can be computed at once, while a chunk of logits is in the cache. Those of the
last term do not depend on z, and are added for all rows together.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from saccade.layers.cross_entropy import cross_entropy
from saccade.products import Factor, multiply_back

_LOGITS_AT_ONCE = 1 << 22  # 16 MB in float32: products of enough rows, and little memory


def linear_cross_entropy(
    features: Tensor,  # (…, D)
    output: nn.Linear,
    wanted: Tensor,  # (…) ids
    *,
    ignored: int,  # an id whose rows do not count
    smoothing: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """The smoothed and the plain cross-entropy, both summed over all rows; gradients flow through the first alone."""
    features, wanted = features.flatten(0, -2), wanted.flatten()
    if why_not_chunked(features) is None:
        weight, bias = output.weight, output.bias  # of a parametrised layer, computed here
        chunked: type[torch.autograd.Function] = _ChunkedCrossEntropy
        loss, plain = chunked.apply(features, weight, bias, wanted, ignored, smoothing)
        return loss, plain
    loss, each = cross_entropy(output(features), wanted, ignored=ignored, smoothing=smoothing)
    return loss, each.sum()


def why_not_chunked(features: Tensor) -> str | None:
    """The reason why all logits are stored at once, or None if they are not."""
    if not features.is_cpu:
        return f"the device is {features.device.type}, where all logits at once are as fast"
    if torch.is_autocast_enabled("cpu") or features.dtype not in (torch.float32, torch.float64):
        return "the precision is mixed"
    if torch.compiler.is_compiling():
        return "the model is compiled"
    return None


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None, wanted: Tensor, ignored: int, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        counted = (wanted != ignored).nonzero().squeeze(1)
        x, y = features[counted], wanted[counted, None]
        smoothed, plain = features.new_zeros(2)
        needs_gradients = any(ctx.needs_input_grad)
        dx, dw = torch.empty_like(x), torch.zeros_like(weight)
        db = None if bias is None else torch.zeros_like(bias)
        # Σ_v z = (Σ_v w)·x + Σ_v b: the mean of the logits needs no logits.
        mean_w = weight.mean(0)
        mean_z = x @ mean_w if bias is None else x @ mean_w + bias.mean()
        rows = max(1, _LOGITS_AT_ONCE // weight.shape[0])
        chunks = zip(*(torch.split(tensor, rows) for tensor in (x, y, mean_z, dx)), strict=True)
        factor = Factor(weight)
        for x_c, y_c, mean_c, dx_c in chunks if len(x) else ():
            z = factor.multiply(x_c, bias)
            largest, of_wanted = z.amax(-1), z.gather(1, y_c).squeeze(1)
            probs = torch.softmax(z, -1, out=z)
            log_sum = largest - probs.amax(-1).log()  # log Σ exp z
            plain += (log_sum - of_wanted).sum()
            smoothed += (log_sum - mean_c).sum()
            if needs_gradients:
                dz = probs.scatter_add_(1, y_c, probs.new_full((1, 1), smoothing - 1).expand_as(y_c))
                dx_c.copy_(multiply_back(dz, weight))
                dw.addmm_(dz.t(), x_c)
                if db is not None:
                    db += dz.sum(0)
                del dz
            del z, probs  # before there is memory for the next chunk
        if needs_gradients:
            dw -= (smoothing / weight.shape[0]) * x.sum(0)
            if db is not None:
                db -= smoothing * len(x) / weight.shape[0]
            of_features = torch.zeros_like(features).index_copy_(0, counted, dx.sub_(smoothing * mean_w))
            ctx.save_for_backward(of_features, dw, db)
        loss = torch.lerp(plain, smoothed, smoothing)
        ctx.mark_non_differentiable(plain)
        return loss, plain

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if gradient is None else of_loss * gradient for gradient in ctx.saved_tensors)
        return (*gradients, None, None, None)
