"""The forward pass compiled, where that can be done and pays."""

from typing import Any

import torch

from saccade.layers.recurrent import RecurrentUnit
from saccade.models import Seq2Seq


def compile_forward(model: Seq2Seq[Any, Any], device: torch.device) -> str | None:
    """In place, so that names of weights stay, for batches of any size; or why the model is trained as it is."""
    if any(isinstance(module, RecurrentUnit) for module in model.modules()):
        return "train.compile: a recurrent model would be compiled anew for every length; it is trained as it is"
    try:
        torch.compile(_little)(torch.ones(64, device=device))
    except Exception as error:  # whatever a compiler that is missing or broken makes of it
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return f"train.compile: no compiler works here ({reason[:120]}); the model is trained as it is"
    model.compile(dynamic=True)
    return None


def _little(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.sin() + 1
