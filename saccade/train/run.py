"""A training run: its parts, its state, and how the state is saved and restored to the bit."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade import files, model_folder
from saccade.data.batching import Batches
from saccade.data.sources import hash_pairs
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.train.dataset import Dataset
from saccade.train.distributed import Workers
from saccade.train.guidance import AlignmentGuide
from saccade.train.log import Log
from saccade.train.losses import Objective
from saccade.train.precision import Precision
from saccade.train.recipe import Recipe
from saccade.train.reinforce import Reinforce, has_sampled_attention
from saccade.train.schedules import learning_rate, truth_share
from saccade.train.weights import RunningAverage

_MOST_BAD_UPDATES = 20  # in a row that are not finite, before the run gives up


@dataclass(kw_only=True)
class TrainingState:
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
class TrainingRun:
    recipe: Recipe
    out: Path
    dataset: Dataset
    device: torch.device
    workers: Workers
    model: Seq2Seq[Any, Any]
    optimiser: torch.optim.Optimizer
    precision: Precision
    guide: AlignmentGuide | None
    mean: RunningAverage | None
    batches: Batches
    log: Log
    state: TrainingState

    def with_tokens(self, tokens: int) -> "TrainingRun":
        """In batches of another size."""
        recipe = replace(self.recipe, train=replace(self.recipe.train, tokens=tokens))
        return replace(self, recipe=recipe, batches=build_batches(self.dataset, recipe))

    @property
    def diverged(self) -> bool:
        """Whether so many updates in a row were not finite that more of them would not help."""
        return self.state.bad >= _MOST_BAD_UPDATES

    def epochs(self) -> float:
        """How often the data was gone through."""
        return self.batches.epochs

    def rate(self) -> float:
        """The learning rate of the next update."""
        state = self.state
        return learning_rate(self.recipe.train, state.step, self.progress(), self.epochs(), state.falls)

    def objective(self) -> Objective:
        """What the next update is to lower."""
        training = self.recipe.train
        return Objective(
            smoothing=training.smoothing,
            own_share=1 - truth_share(training, self.state.step),
            guided=training.guided * training.guided_decay ** (self.batches.epoch - 1),
            guide=self.guide,
            reinforce=self._reinforce() if has_sampled_attention(self.model) else None,
        )

    def _reinforce(self) -> Reinforce:
        training = self.recipe.train
        return Reinforce(
            weight=training.reinforce,
            entropy=training.reinforce_entropy,
            expected=training.reinforce_expected,
            baseline=self.state.baseline,
        )

    def progress(self) -> float:
        """How much of the budget is spent, 0 … 1."""
        training = self.recipe.train
        spent = [
            (self.state.step, training.max_steps),
            (self.epochs(), training.max_epochs),
            (self.state.seconds / 60, training.max_minutes),
        ]
        return max(used / most if most else 1.0 for used, most in spent if most is not None)


def build_batches(dataset: Dataset, recipe: Recipe) -> Batches:
    return Batches(dataset.corpus, tokens=recipe.train.batch_tokens, seed=recipe.train.seed)


def save_state(run: TrainingRun, keep: Callable[[Path], None] | None = None) -> None:
    """All that resuming needs and, as one with it, what `keep` writes. Every worker takes part, the leader writes."""
    mean = run.mean
    saved = {
        "model": run.model.state_dict(),
        "optimiser": run.optimiser.state_dict(),
        "precision": run.precision.state(),
        "mean": None if mean is None else {"count": mean.count, "weights": mean.weights},
        "batches": dict(run.batches.state()),
        "digest": run.dataset.digest,
        "valid_digest": hash_pairs(run.dataset.valid),
        "progress": vars(run.state),
        "random": run.workers.gather(_chance(run.device)),  # a worker's each
    }

    def write() -> None:
        with files.atomic_folder(run.out) as new:
            if keep is not None:
                keep(new)
            model_folder.save_training(new, saved)

    run.workers.broadcast(write)


def restore_state(run: TrainingRun) -> bool:
    """Whether there was anything to go on from: a run may have been stopped before it first saved."""
    folder, optimiser, mean = run.out, run.optimiser, run.mean
    if not (folder / "training").is_dir():
        if (folder / "model.safetensors").exists():
            raise UserError(f"{folder}: a model without its training/ folder cannot be trained further; train it again")
        return False
    saved = model_folder.load_training(folder)
    if saved["digest"] != run.dataset.digest:
        raise UserError(
            f"{run.recipe.data.name}: not the pairs that the run in {folder} began with; put them back as they were, "
            "or train on the new ones with another --out (and --init-from, to begin with what was learnt)"
        )
    valid = hash_pairs(run.dataset.valid)
    if saved.get("valid_digest", valid) != valid:  # runs of version 0.1.0 do not have it
        raise UserError(
            f"{run.recipe.data.valid or run.recipe.data.name}: not the validation pairs that the run in {folder} began "
            "with, so that its scores would not compare; put them back as they were, or train with another --out"
        )
    try:
        run.model.load_state_dict(saved["model"])
        if saved["optimiser"]["param_groups"][0].keys() != optimiser.state_dict()["param_groups"][0].keys():
            raise ValueError("another optimiser")  # which would fail only at its first step
        optimiser.load_state_dict(saved["optimiser"])
        run.precision.restore(saved["precision"])
        if mean is not None:
            mean.count = saved["mean"]["count"]
            for name, value in saved["mean"]["weights"].items():
                mean.weights[name].copy_(value)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder / 'training'}: not of the model and optimiser that {folder / 'recipe.toml'} describes; "
            "put the recipe back as it was, or start anew with another --out"
        ) from error
    run.batches.restore(saved["batches"])
    vars(run.state).update(saved["progress"])
    if run.workers.rank < len(saved["random"]):
        _restore_chance(saved["random"][run.workers.rank], run.device)
    else:  # one that was not there before
        seed_worker(run)
    return True


def seed_worker(run: TrainingRun) -> None:
    """A worker's own chance, of its dropout: other than that of the others, and of those before it."""
    entropy = (run.recipe.train.seed, run.workers.rank, run.state.step)
    torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))


def _chance(device: torch.device) -> dict[str, Tensor]:
    on_device = {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"cpu": torch.get_rng_state(), **on_device}


def _restore_chance(state: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
