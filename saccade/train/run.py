"""The parts of one run, which its updates, its checks and what is saved of it all work on."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.data.batching import Batches
from saccade.models import Seq2Seq
from saccade.train.log import Log
from saccade.train.material import Material
from saccade.train.recipe import Recipe
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


@dataclass(frozen=True, kw_only=True)
class Run:
    recipe: Recipe
    out: Path
    material: Material
    device: torch.device
    model: Seq2Seq[Any, Any]
    optimiser: torch.optim.Optimizer
    mean: RunningMean | None
    batches: Batches
    log: Log
    standing: Standing

    def progress(self) -> float:
        """How much of the budget is spent, 0 … 1."""
        how = self.recipe.train
        epochs = self.batches.epoch - 1 + self.batches.index / len(self.batches)
        spent = [
            (self.standing.step, how.max_steps),
            (epochs, how.max_epochs),
            (self.standing.seconds / 60, how.max_minutes),
        ]
        return max(used / most if most else 1.0 for used, most in spent if most is not None)
