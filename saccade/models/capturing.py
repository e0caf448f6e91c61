"""Whether a training step of a model never waits for the device, so that a CUDA graph can record it."""

from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from saccade.models.contract import Seq2Seq

_B, _S, _T = 2, 4, 3


def why_not_captured(model: Seq2Seq[Any, Any]) -> str | None:
    """The reason why forward and backward cannot be recorded, or None if they can, as those of this package."""
    return None if is_built_in(model) else find_host_reads(model)  # which imports much of torch, and takes seconds


def is_built_in(model: Seq2Seq[Any, Any]) -> bool:
    """Whether all its parts are of this package or of torch."""
    return all(type(module).__module__.split(".")[0] in ("saccade", "torch") for module in model.modules())


def find_host_reads(model: Seq2Seq[Any, Any]) -> str | None:
    """The first operation of forward and backward that needs a number of a tensor, or None.

    Both run on the meta device, whose tensors have shapes but no numbers: whatever needs a number there would wait for
    a GPU, and what it decides would be the same in every replay. Neither the parameters nor the random state change.
    """
    parameters = {name: _without_numbers(parameter) for name, parameter in model.named_parameters()}
    buffers = {name: _without_numbers(buffer) for name, buffer in model.named_buffers()}
    source, target = (torch.zeros(_B, length, dtype=torch.long, device="meta") for length in (_S, _T))
    try:
        with _RefusesHostTensors(), torch.enable_grad():  # type: ignore[no-untyped-call]
            logits = functional_call(model, (parameters, buffers), (source, source == 0, target))
            learnt = [parameter for parameter in parameters.values() if parameter.requires_grad]
            torch.autograd.grad(logits.sum(), learnt, allow_unused=True)
    except (NotImplementedError, RuntimeError) as error:
        return f"the model needs numbers from the device, or sends some to it: {str(error).splitlines()[0]}"
    return None


def _without_numbers(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor, device="meta").requires_grad_(tensor.requires_grad)


class _RefusesHostTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A graph would replay the numbers that a tensor of the host had when it was recorded."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(isinstance(x, Tensor) and x.is_cpu and x.dim() for x in tree_leaves((args, kwargs))):
            raise RuntimeError(f"{func} reads a tensor of the host")
        return func(*args, **kwargs)
