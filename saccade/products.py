"""Products of matrices on a CPU by oneDNN, which is faster than MKL, the library behind `F.linear`.

For y = x Wᵀ + b with gradients g of y: x Wᵀ and dx = g W are faster by a tenth, dW = gᵀ x is not. A `Factor` is a W
that many products share. It is rearranged once for all of them, which MKL does at every call: with 5 rows that takes
longer than the product. The results differ only in rounding.

In inference mode, a layer keeps its arranged weights, as much memory again, until they change or the layer is trained.
"""

import platform
from functools import cache, cached_property
from typing import Any, Literal, Self, cast
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.overrides import has_torch_function_unary

Then = Literal["none", "relu"]  # computed while the outputs are in the cache

_FEWEST_WEIGHTS = 1 << 16  # the product of a smaller layer may take less time than a longer call
_TYPICAL_ROWS = 320  # an arrangement for many rows is also the fastest one for 5, and as fast as others for 1


class Factor:
    """W (outputs, inputs) for several products"""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def multiply(self, inputs: Tensor, bias: Tensor | None = None, then: Then = "none") -> Tensor:
        """then(x Wᵀ + b)"""
        if why_not_onednn(self.weight, inputs) is None:
            return _multiply(inputs, self._arranged, bias, then)
        outputs = F.linear(inputs, self.weight, bias)
        return F.relu(outputs, inplace=True) if then == "relu" else outputs

    def multiply_back(self, of_outputs: Tensor) -> Tensor:
        """g W"""
        if why_not_onednn(self.weight, of_outputs) is None:
            return _multiply(of_outputs, self._arranged_back)
        return of_outputs @ self.weight

    @cached_property
    def _arranged(self) -> Tensor:
        return _arrange(self.weight)

    @cached_property
    def _arranged_back(self) -> Tensor:
        return _arrange(self.weight.t().contiguous())


def multiply(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b, without a gradient, for a W that is used once"""
    if why_not_onednn(weight, inputs) is None:
        return _multiply(inputs, weight, bias)
    return F.linear(inputs, weight, bias)


def multiply_back(of_outputs: Tensor, weight: Tensor) -> Tensor:
    """g W, without a gradient, for a W that is used once"""
    if why_not_onednn(weight, of_outputs) is None:
        return _multiply(of_outputs, weight.t())
    return of_outputs @ weight


def why_not_onednn(weight: Tensor, inputs: Tensor) -> str | None:
    """The reason why a product is not computed by oneDNN, or None if it is."""
    if not (inputs.is_cpu and weight.is_cpu):
        return f"the device is {inputs.device.type}"
    if not (inputs.dtype == weight.dtype == torch.float32) or torch.is_autocast_enabled("cpu"):
        return "the precision is not fp32"
    if weight.numel() < _FEWEST_WEIGHTS or not inputs.numel():
        return "the products are small"
    if torch.compiler.is_compiling():
        return "the model is compiled"
    return None if has_onednn() else "this torch or this processor has no oneDNN that was measured"


@cache
def has_onednn() -> bool:
    """Whether torch has the operators, which are private to it, on a kind of processor where they were measured."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not torch.backends.mkldnn.is_available():
        return False
    return all(hasattr(torch.ops.mkldnn, name) for name in ("_reorder_linear_weight", "_linear_pointwise"))


def _multiply(inputs: Tensor, weight: Tensor, bias: Tensor | None = None, then: Then = "none") -> Tensor:
    return cast(Tensor, torch.ops.mkldnn._linear_pointwise(inputs, weight, bias, then, [], ""))


def _arrange(weight: Tensor) -> Tensor:
    return cast(Tensor, torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _TYPICAL_ROWS))


class FastLinear(nn.Linear):
    """`nn.Linear`, multiplied by oneDNN where that is faster"""

    def forward(self, input: Tensor) -> Tensor:
        return self.apply_then("none", input)

    def apply_then(self, then: Then, inputs: Tensor) -> Tensor:
        if why_not_onednn(self.weight, inputs) is not None or has_torch_function_unary(inputs):
            outputs = F.linear(inputs, self.weight, self.bias)  # which a mode, such as `late_gradients`, may intercept
            return F.relu(outputs, inplace=True) if then == "relu" else outputs
        if torch.is_inference_mode_enabled() and not self.weight.is_inference():
            return _kept_factor(self).multiply(inputs, self.bias, then)
        rows = inputs.reshape(-1, inputs.shape[-1])  # of more axes, oneDNN returns a view, which may not be changed
        outputs = cast(Tensor, _Linear.apply(rows, self.weight, self.bias, then))  # type: ignore[no-untyped-call]
        return outputs.view(*inputs.shape[:-1], -1)

    def train(self, mode: bool = True) -> Self:
        if mode:
            _kept.pop(self, None)
        return super().train(mode)


def accelerate_linear_layers(model: nn.Module) -> None:
    """Multiply by oneDNN in all linear layers; nothing else about them changes."""
    for layer in model.modules():
        if type(layer) is nn.Linear:  # a subclass may compute something else
            layer.__class__ = FastLinear


def why_not_accelerated(model: nn.Module, probe: Tensor) -> str | None:
    """The reason why no layer of a model multiplies inputs like this one by oneDNN, or None if some do."""
    layers = [layer for layer in model.modules() if isinstance(layer, FastLinear)]
    reasons = [why_not_onednn(layer.weight, probe) for layer in layers]
    return None if None in reasons else next(iter(reasons), "the model has no such layers")


def linear_relu(layer: nn.Module, inputs: Tensor) -> Tensor:
    """relu(layer(inputs))"""
    if isinstance(layer, FastLinear):
        return layer.apply_then("relu", inputs)
    return F.relu(layer(inputs), inplace=True)


# The factors of layers in inference mode, with the version of the weights that they were made of
_kept: WeakKeyDictionary[FastLinear, tuple[object, Factor]] = WeakKeyDictionary()


def _kept_factor(layer: FastLinear) -> Factor:
    version = layer.weight.data_ptr(), layer.weight._version
    known = _kept.get(layer)
    if known is None or known[0] != version:
        known = _kept[layer] = version, Factor(layer.weight.detach())
    return known[1]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, then: Then) -> Tensor:
        outputs = _multiply(inputs, weight, bias, then)
        ctx.save_for_backward(inputs, weight, outputs if then == "relu" else None)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_outputs: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight, outputs = ctx.saved_tensors
        if outputs is not None:
            of_outputs = torch.ops.aten.threshold_backward(of_outputs, outputs, 0)
        return (
            multiply_back(of_outputs, weight) if ctx.needs_input_grad[0] else None,
            of_outputs.t() @ inputs if ctx.needs_input_grad[1] else None,
            of_outputs.sum(0) if ctx.needs_input_grad[2] else None,
            None,
        )
