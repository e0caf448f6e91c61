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

from saccade.loops import Loop, StepRecord, make_slots
from saccade.products import Factor


def late_gradients(steps: int) -> AbstractContextManager[object]:
    """Within it, each linear layer may be applied up to `steps` times; later calls are computed as usual."""
    if steps < 2 or not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return nullcontext()  # nothing to add up, or a compiler that sees the steps as one
    return _LateGradients(steps)


class _LateGradients(TorchFunctionMode):
    """A loop whose linear layers are intercepted."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.loop = Loop(steps)

    def __enter__(self) -> "_LateGradients":
        self.loop.__enter__()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        self.loop.__exit__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.linear and not kwargs and args[1].requires_grad:
            return self._apply(*args)
        return func(*args, **(kwargs or {}))

    def _apply(self, inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return self.loop.share(weight, lambda: _Layer(weight, bias, inputs, self.loop.steps))(inputs)


class _Layer:
    """One layer's weights in the precision of its products, and a slot for each of its steps."""

    def __init__(self, weight: Tensor, bias: Tensor | None, inputs: Tensor, steps: int) -> None:
        self.dtype = product_dtype(inputs)
        self.weight, self.bias = weight.to(self.dtype), None if bias is None else bias.to(self.dtype)
        self.constants = Factor(self.weight.detach()), None if self.bias is None else self.bias.detach()
        self.shape, self.record = inputs.shape, _Inputs(bias is not None)
        shape = (steps, *inputs.shape[:-1], weight.shape[0])
        self.slots = make_slots(self.record, (self.weight, self.bias), [(shape, self.dtype)])

    def __call__(self, inputs: Tensor) -> Tensor:
        inputs = inputs.to(self.dtype)
        if not self.slots or inputs.shape != self.shape:
            return F.linear(inputs, self.weight, self.bias)
        self.record.inputs.append(inputs.detach())
        return cast(Tensor, _OneStep.apply(inputs, *self.constants, *self.slots.pop()))  # type: ignore[no-untyped-call]


class _Inputs(StepRecord):
    """The inputs of a layer so far"""

    def __init__(self, has_bias: bool) -> None:
        self.has_bias = has_bias
        self.inputs: list[Tensor] = []

    def of_shared(self, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        outputs = gradients[0][: len(self.inputs)].flatten(0, -2)
        of_weight = outputs.t() @ torch.stack(self.inputs).flatten(0, -2)
        return of_weight, outputs.sum(0) if self.has_bias else None


class _OneStep(torch.autograd.Function):
    """One step's outputs; their gradient goes to the inputs and to the slot."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, factor: Factor, bias: Tensor | None, slot: Tensor) -> Tensor:
        ctx.factor = factor
        return factor.multiply(inputs, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor) -> tuple[Tensor | None, ...]:
        factor: Factor = ctx.factor
        return factor.multiply_back(of_outputs) if ctx.needs_input_grad[0] else None, None, None, of_outputs


def product_dtype(inputs: Tensor) -> torch.dtype:
    """The precision of a product of these inputs"""
    device = inputs.device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return inputs.dtype
