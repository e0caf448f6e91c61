"""A training run: its parts, its folder, and how it is saved and restored to the bit."""

import copy
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade import config, files, model_folder
from saccade.errors import UserError
from saccade.locking import entries, locked
from saccade.train.distributed import Workers
from saccade.train.graphs import GradientGraphs
from saccade.train.learner import Learner, TrainingState, model_card
from saccade.train.log import Log
from saccade.train.optimisation import Precision, RunningAverage
from saccade.train.recipe import RECIPE
from saccade.train.training_options import MEASURED, Training

_MAY_BE_THERE = ("pairs.", ".pairs.", ".recipe.toml-")  # copies of the input, and what a kill this early leaves
_MOST_BAD_UPDATES = 20  # in a row that are not finite, before the run gives up


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    learner: Learner[Any]
    training: Training
    tables: dict[str, Any]  # of recipe.toml, besides [train]
    out: Path
    device: torch.device
    workers: Workers
    model: nn.Module
    optimiser: torch.optim.Optimizer
    precision: Precision
    average: RunningAverage | None
    log: Log
    state: TrainingState
    graphs: GradientGraphs | None = None  # where the plain path is not the only one

    @property
    def parts(self) -> dict[str, Any]:
        """Everything with a `state_dict`, by its name in a saved run."""
        parts = {"model": self.model, "optimiser": self.optimiser, "precision": self.precision, "mean": self.average}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def diverged(self) -> bool:
        """Whether so many updates in a row were not finite that more of them would not help."""
        return self.state.bad >= _MOST_BAD_UPDATES

    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 … 1."""
        training, state = self.training, self.state
        spent = [
            (state.step, training.max_steps),
            (self.learner.batches.epochs, training.max_epochs),
            (state.seconds / 60, training.max_minutes),
        ]
        return max(used / most if most else 1.0 for used, most in spent if most is not None)

    def with_training(self, **settings: Any) -> "TrainingRun":
        """Replace settings that were "auto" until now, and save the recipe."""
        run = replace(self, training=replace(self.training, **settings))
        self.workers.broadcast(lambda: save_recipe(run.out, run.tables, run.training))
        return run

    def rehearsal(self, log: Log) -> "TrainingRun":
        """A copy for trial updates, which leave this run as it is."""
        names = ("model", "optimiser", "precision", "average", "state")
        copies = copy.deepcopy({name: getattr(self, name) for name in names})  # at once: the optimiser knows the model
        return replace(self, **copies, workers=Workers(), log=log, graphs=None)  # which belong to this model


@contextmanager
def claim_folder(workers: Workers, out: Path) -> Iterator[None]:
    """Lock the folder of a run; rank 0 holds the lock for all workers. Contexts may be nested.

    If the user's mistake ends the run before its first step, the folder is left as it was, so that the corrected
    command works. A run that has begun has a `metrics.jsonl`, and keeps everything.
    """
    with ExitStack() as lock:
        workers.broadcast(lambda: lock.enter_context(locked(out, folder=True)))
        before = set(out.iterdir()) if workers.is_rank0 else set()
        try:
            yield
        except (UserError, OSError) as mistake:
            is_user_mistake = isinstance(mistake, OSError) or mistake.code == UserError.code
            if workers.is_rank0 and is_user_mistake and not (out / "metrics.jsonl").exists():
                for path in set(out.iterdir()) - before:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            raise


def refuse_used_folder(out: Path) -> None:
    """A new run does not overwrite an old one."""
    if out.is_dir() and not all(path.name.startswith(_MAY_BE_THERE) for path in entries(out)):
        raise UserError(f"{out}: the folder is not empty; add --resume to continue its run, or give another --out")


def prepare_folder(out: Path, tables: Mapping[str, Any], training: Training, *, resume: bool) -> Training:
    """Begin or resume a run in `out`: its training with what "auto" decided when the run began."""
    if resume and not (out / RECIPE).exists():
        raise UserError(f"{out}: there is no run to resume; leave --resume out to start one")
    if not resume:
        refuse_used_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    files.refuse_links(out)  # somebody else's folder must not lead the log and the cache elsewhere
    files.recover(out)
    for name in ("metrics.jsonl", RECIPE, "config.json"):
        files.remove_leftovers(out / name)
    if not resume:
        save_recipe(out, tables, training)
        return training
    decided = config.load_toml(files.path_inside(out, RECIPE)).get("train", {})
    measured = {name: decided[name] for name in MEASURED if getattr(training, name) == "auto" and name in decided}
    return replace(training, **measured)


def save_recipe(out: Path, tables: Mapping[str, Any], training: Training) -> None:
    text = config.dump_toml({**tables, "train": config.to_dict(training)})
    place = out / RECIPE
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        files.write_atomically(place, text)


def save_run(run: TrainingRun, best_model: nn.Module | None = None) -> None:
    """Save what resuming needs and, in the same transaction, the model if it is the best so far. All workers take
    part."""
    learner, state = run.learner, run.state
    saved = {name: part.state_dict() for name, part in run.parts.items()} | {
        "batches": dict(learner.batches.state()),
        "data": {kind: data.digest for kind, data in learner.data.items()},
        "progress": vars(state),
        "random": run.workers.gather(_random_state(run.device)),  # one per worker
    }

    def write() -> None:
        with files.atomic_folder(run.out) as new:
            if best_model is not None:
                best = state.best or {}
                card = model_card(learner, best_model, best, run.training.seed, state.seconds)
                learner.save(new, best_model, best=best, card=card)
            model_folder.save_training(new, saved)

    run.workers.broadcast(write)


def restore_run(run: TrainingRun) -> bool:
    """Whether there was anything to restore: a run may have been stopped before it was first saved."""
    folder = run.out
    if not (folder / "training").is_dir():
        if (folder / "model.safetensors").exists():
            raise UserError(f"{folder}: a model without its training/ folder cannot be trained further; train it again")
        return False
    saved = model_folder.load_training(folder)
    for kind, data in run.learner.data.items():
        if saved.get("data", {}).get(kind) != data.digest:
            raise UserError(
                f"{data.name}: not the {kind} that the run in {folder} began with; put them back as they were, or "
                "train on the new ones with another --out (and --init-from, to begin with the trained weights)"
            )
    try:
        groups, saved_groups = (state["param_groups"] for state in (run.optimiser.state_dict(), saved["optimiser"]))
        if groups[0].keys() != saved_groups[0].keys():
            raise ValueError("another optimiser")  # which would fail only at its first step
        for name, part in run.parts.items():
            part.load_state_dict(saved[name])
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder / 'training'}: does not fit the model and optimiser that {folder / 'recipe.toml'} describes; "
            "put the recipe back as it was, or start again with another --out"
        ) from error
    run.learner.batches.restore(saved["batches"])
    vars(run.state).update(saved["progress"])
    if run.workers.rank < len(saved["random"]):
        _set_random_state(saved["random"][run.workers.rank], run.device)
    else:  # there are more workers than before
        seed_worker(run)
    return True


def seed_worker(run: TrainingRun) -> None:
    """Give each worker random numbers of its own (for dropout), other than before the run was resumed."""
    entropy = (run.training.seed, run.workers.rank, run.state.step)
    torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))


def _random_state(device: torch.device) -> dict[str, Tensor]:
    on_device = {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"cpu": torch.get_rng_state(), **on_device}


def _set_random_state(state: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
