"""The weight gradients of layers that every step of a recurrence applies: one product for all steps, at the end.

For y_t = W x_t with gradients g_t, dW = Σ_t g_tᵀ x_t = Gᵀ X, where G and X hold all steps. One large product is faster
than a small one per step, and the steps' results need not be added up. The sums differ only in their rounding.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

from saccade.layers.products import Factor


def late_gradients(steps: int) -> AbstractContextManager[object]:
    """Within it, each linear layer may be applied up to `steps` times; later calls are computed as usual."""
    if steps < 2 or not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return nullcontext()  # nothing to add up, or a compiler that sees the steps as one
    return _LateGradients(steps)


class _LateGradients(TorchFunctionMode):
    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps, self.layers = steps, dict[Tensor, _Layer]()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.linear and not kwargs and args[1].requires_grad:
            return self._apply(*args)
        return func(*args, **(kwargs or {}))

    def _apply(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if weight not in self.layers:
            self.layers[weight] = _Layer(weight, bias, inputs, self.steps)
        return self.layers[weight](inputs)


class _Layer:
    """One layer's weights in the precision of its products, and its inputs so far."""

    def __init__(self, weight: Tensor, bias: Tensor | None, inputs: Tensor, steps: int) -> None:
        self.dtype = _product_dtype(inputs)
        self.weight, self.bias = weight.to(self.dtype), None if bias is None else bias.to(self.dtype)
        self.constants = Factor(self.weight.detach()), None if self.bias is None else self.bias.detach()
        # Detached: they are kept by a node that they themselves depend on, which would never be freed.
        self.inputs: list[Tensor] = []
        self.shape = inputs.shape
        every = _AllSteps.apply(self.weight, self.bias, self.inputs, (steps, *inputs.shape[:-1]))  # type: ignore[no-untyped-call]
        self.slots = list(reversed(cast(Tensor, every).unbind()))

    def __call__(self, inputs: Tensor) -> Tensor:
        inputs = inputs.to(self.dtype)
        if not self.slots or inputs.shape != self.shape:
            return F.linear(inputs, self.weight, self.bias)
        self.inputs.append(inputs.detach())
        return cast(Tensor, _OneStep.apply(inputs, *self.constants, self.slots.pop()))  # type: ignore[no-untyped-call]


class _AllSteps(torch.autograd.Function):
    """Zeros (steps, …, outputs), without memory of their own, whose gradient is that of all outputs."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, inputs: list[Tensor], shape: tuple[int, ...]) -> Tensor:
        ctx.inputs, ctx.has_bias = inputs, bias is not None
        return weight.new_zeros(()).expand(*shape, weight.shape[0])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs = torch.stack(ctx.inputs).flatten(0, -2)
        outputs = gradients[: len(ctx.inputs)].flatten(0, -2)
        return outputs.t() @ inputs, outputs.sum(0) if ctx.has_bias else None, None, None


class _OneStep(torch.autograd.Function):
    """One step's outputs; their gradient goes to the inputs and, through `slot`, to `_AllSteps`."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, factor: Factor, bias: Tensor | None, slot: Tensor) -> Tensor:
        ctx.factor = factor
        return factor.multiply(inputs, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor) -> tuple[Tensor | None, ...]:
        factor: Factor = ctx.factor
        return factor.multiply_back(of_outputs) if ctx.needs_input_grad[0] else None, None, None, of_outputs


def _product_dtype(inputs: Tensor) -> torch.dtype:
    device = inputs.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return inputs.dtype
