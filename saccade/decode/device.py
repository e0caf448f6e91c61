"""Where a model runs: the fastest device that there is, or the one that was asked for."""

import torch

from saccade.errors import UserError


def find_device(name: str | torch.device = "auto") -> torch.device:
    """`"auto"` is CUDA, then Apple MPS, then the CPU; any other name must be one that this machine has."""
    if name == "auto":
        there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
        return torch.device(next(kind for kind, found in there.items() if found))
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"device {str(name)!r} cannot be used here: {reason}; expected auto, cpu, cuda or mps"
        ) from error
    return device
