"""Where a run stands, and how it is put on disk and taken up again, to the bit."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade import checkpoint
from saccade.data.batching import Batches
from saccade.errors import UserError
from saccade.train.steps import RunningMean


@dataclass(kw_only=True)
class Standing:
    """Where a run stands: with weights, optimiser and random state, all that resuming needs."""

    step: int = 0  # updates made
    seconds: float = 0.0  # of training, over all sittings
    loss: float = 0.0  # since the last note: the sum over tokens …
    tokens: int = 0  # … and how many
    skipped: int = 0  # updates that were not finite
    bad: int = 0  # of them in a row, now
    best: dict[str, Any] | None = None  # the best check's numbers
    checked: int = -1  # the step of the last check
    stale: int = 0  # checks since the best one
    snapshots: list[dict[str, Tensor]] = field(default_factory=list)  # weights of the last checks, to be averaged


def save_standing(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    mean: RunningMean | None,
    batches: Batches,
    standing: Standing,
) -> None:
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "mean": None if mean is None else {"count": mean.count, "weights": mean.weights},
        "batches": dict(batches.state()),
        "standing": vars(standing),
        "random": torch.get_rng_state(),
        "cuda_random": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    checkpoint.save_training(folder, state)


def restore_standing(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    mean: RunningMean | None,
    batches: Batches,
    standing: Standing,
) -> bool:
    """Whether there was anything to go on from: a run may have been stopped before it first saved."""
    if not (folder / "training").is_dir():
        if (folder / "model.safetensors").exists():
            raise UserError(f"{folder}: a model without its training/ folder cannot be trained further; train it again")
        return False
    state = checkpoint.load_training(folder)
    try:
        model.load_state_dict(state["model"])
        if state["optimiser"]["param_groups"][0].keys() != optimiser.state_dict()["param_groups"][0].keys():
            raise ValueError("another optimiser")  # which would fail only at its first step
        optimiser.load_state_dict(state["optimiser"])
        if mean is not None:
            mean.count = state["mean"]["count"]
            for name, value in state["mean"]["weights"].items():
                mean.weights[name].copy_(value)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder / 'training'}: not of the model and optimiser that {folder / 'recipe.toml'} describes; "
            "put the recipe back as it was, or start anew with another --out"
        ) from error
    batches.restore(state["batches"])
    vars(standing).update(state["standing"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["cuda_random"]:
        torch.cuda.set_rng_state_all(state["cuda_random"])
    return True
