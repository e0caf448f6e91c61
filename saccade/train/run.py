"""The parts of one run, which its updates, its checks and what is saved of it all work on."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.data.batching import Batches
from saccade.models import Seq2Seq
from saccade.train.averaging import RunningMean
from saccade.train.distributed import Workers
from saccade.train.guidance import Guide
from saccade.train.log import Log
from saccade.train.losses import Objective
from saccade.train.material import Material
from saccade.train.precision import Precision
from saccade.train.recipe import Recipe
from saccade.train.reinforce import Reinforce, draws
from saccade.train.schedules import learning_rate, truth_share

_MOST_BAD_UPDATES = 20  # in a row that are not finite, before the run gives up


@dataclass(kw_only=True)
class Standing:
    """Where a run stands: with weights, optimiser and random state, all that resuming needs."""

    step: int = 0  # updates made
    seconds: float = 0.0  # of updates and checks, over all sittings
    loss: float = 0.0  # since the last note: the sum over tokens …
    tokens: int = 0  # … and how many
    skipped: int = 0  # updates that were not finite
    bad: int = 0  # of them in a row, now
    best: dict[str, Any] | None = None  # the best check's numbers
    checked: int = -1  # the step of the last check
    stale: int = 0  # checks since the best one
    lowest: float = math.inf  # validation loss of all checks …
    flat: int = 0  # … and checks since it, or since a plateau lowered the rate
    falls: int = 0  # how often a plateau did so
    room: int | None = None  # pieces that a worker reads at once; larger batches are read in parts
    splits: int = 0  # batches, lately, that turned out not to fit
    baseline: float | None = None  # of a target token's log-probability: a moving average, for sampled attention
    averaged: int = -1  # the step at which the mean of the last checks was tried
    snapshots: list[dict[str, Tensor]] = field(default_factory=list)  # weights of the last checks, to be averaged


@dataclass(frozen=True, kw_only=True)
class Run:
    recipe: Recipe
    out: Path
    material: Material
    device: torch.device
    workers: Workers
    model: Seq2Seq[Any, Any]
    optimiser: torch.optim.Optimizer
    precision: Precision
    guide: Guide | None
    mean: RunningMean | None
    batches: Batches
    log: Log
    standing: Standing

    def with_tokens(self, tokens: int) -> "Run":
        """In batches of another size."""
        recipe = replace(self.recipe, train=replace(self.recipe.train, tokens=tokens))
        return replace(self, recipe=recipe, batches=batches_of(self.material, recipe))

    @property
    def diverged(self) -> bool:
        """Whether so many updates in a row were not finite that more of them would not help."""
        return self.standing.bad >= _MOST_BAD_UPDATES

    def epochs(self) -> float:
        """How often the data was gone through."""
        return self.batches.epochs

    def rate(self) -> float:
        """The learning rate of the next update."""
        standing = self.standing
        return learning_rate(self.recipe.train, standing.step, self.progress(), self.epochs(), standing.falls)

    def objective(self) -> Objective:
        """What the next update is to lower."""
        how = self.recipe.train
        return Objective(
            smoothing=how.smoothing,
            own_share=1 - truth_share(how, self.standing.step),
            guided=how.guided * how.guided_decay ** (self.batches.epoch - 1),
            guide=self.guide,
            reinforce=self._reinforce() if draws(self.model) else None,
        )

    def _reinforce(self) -> Reinforce:
        how = self.recipe.train
        return Reinforce(
            weight=how.reinforce,
            entropy=how.reinforce_entropy,
            expected=how.reinforce_expected,
            baseline=self.standing.baseline,
        )

    def progress(self) -> float:
        """How much of the budget is spent, 0 … 1."""
        how = self.recipe.train
        spent = [
            (self.standing.step, how.max_steps),
            (self.epochs(), how.max_epochs),
            (self.standing.seconds / 60, how.max_minutes),
        ]
        return max(used / most if most else 1.0 for used, most in spent if most is not None)


def batches_of(material: Material, recipe: Recipe) -> Batches:
    return Batches(material.corpus, tokens=recipe.train.batch_tokens, seed=recipe.train.seed)
