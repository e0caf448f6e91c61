"""Layer normalisation (Ba 2016) whose result is in the precision of the products that read it:

    y = (x − μ)/σ ∘ γ + β,  μ and σ² + ε = mean and variance of x, in float32

Under autocast, torch computes y in float32, and every linear layer that reads it converts it again. On CUDA, one Triton
kernel reads x and writes y in half precision, and one computes all gradients.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.device import has_triton


class NarrowLayerNorm(nn.LayerNorm):
    """`nn.LayerNorm`, but its result has the type that autocast converts the inputs of linear layers to."""

    def forward(self, input: Tensor) -> Tensor:
        device = input.device.type
        if not (torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)):
            return super().forward(input)
        dtype = torch.get_autocast_dtype(device)
        if why_not_fused(input) is None:
            from saccade.layers.norms_triton import fused_norm

            return fused_norm(input, self.weight, self.bias, self.eps, dtype)
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps).to(dtype)


def why_not_fused(x: Tensor) -> str | None:
    """The reason why torch's kernels compute the norm, or None."""
    if not x.is_cuda:
        return f"the device is {x.device.type}"
    if torch.compiler.is_compiling():
        return "the compiler fuses it"
    return None if has_triton() and x.shape[-1] <= 8192 else "there is no kernel for it"
