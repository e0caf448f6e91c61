"""The precision of a search. The weights are converted once, not by every layer as autocast does; attention weights,
norms and log-probabilities are computed in float32 in any case."""

import copy
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from saccade.decode.options import DecodingPrecision
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq

# On CUDA: of the lines that a model of Multi30k writes in fp32, fp16 changes 0.8% and bf16 5.7%
# (benchmarks/precision.py). Other devices search in fp32.
_AUTOMATIC: DecodingPrecision = "fp16"
_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Narrow(NamedTuple):
    """A copy of a model in another precision."""

    model: Seq2Seq[Any, Any]
    weights: list[Tensor]


_narrow: WeakKeyDictionary[nn.Module, dict[torch.dtype, Narrow]] = WeakKeyDictionary()


def choose_precision(name: DecodingPrecision, device: torch.device) -> torch.dtype:
    if name == "auto":
        name = _AUTOMATIC if device.type == "cuda" else "fp32"
    if name == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise UserError(f"--precision bf16: {torch.cuda.get_device_name(device)} cannot compute in bf16; use fp16")
    return _TYPES[name]


def in_precision(model: Seq2Seq[Any, Any], dtype: torch.dtype) -> Seq2Seq[Any, Any]:
    """The model with weights of this type: itself, or a copy, which is kept as long as the model and gets its present
    weights at every call. Weights that are not float32 stay as they are."""
    weights: list[Tensor] = list(model.parameters())
    if dtype == torch.float32 or all(weight.dtype != torch.float32 for weight in weights):
        return model
    copies = _narrow.setdefault(model, {})
    with torch.inference_mode(False), torch.no_grad():  # or the copy could not be refreshed elsewhere
        if dtype not in copies:
            narrow = copy.deepcopy(model).requires_grad_(False).train(model.training)
            for weight in narrow.parameters():
                weight.data = weight.data.to(dtype)
            copies[dtype] = Narrow(narrow, list(narrow.parameters()))
        narrow, narrow_weights = copies[dtype]
        if narrow.training != model.training:
            narrow.train(model.training)
        torch._foreach_copy_(narrow_weights, weights)
    return narrow
