"""How a run is put on disk and taken up again, to the bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from saccade import files, model_folder
from saccade.data.sources import hash_pairs
from saccade.errors import UserError
from saccade.train.run import Run


def save_standing(run: Run, keep: Callable[[Path], None] | None = None) -> None:
    """All that resuming needs and, as one with it, what `keep` writes. Every worker takes part, the leader writes."""
    mean = run.mean
    state = {
        "model": run.model.state_dict(),
        "optimiser": run.optimiser.state_dict(),
        "precision": run.precision.state(),
        "mean": None if mean is None else {"count": mean.count, "weights": mean.weights},
        "batches": dict(run.batches.state()),
        "digest": run.material.digest,
        "valid_digest": hash_pairs(run.material.valid),
        "standing": vars(run.standing),
        "random": run.workers.gather(_chance(run.device)),  # a worker's each
    }

    def write() -> None:
        with files.atomic_folder(run.out) as new:
            if keep is not None:
                keep(new)
            model_folder.save_training(new, state)

    run.workers.told(write)


def restore_standing(run: Run) -> bool:
    """Whether there was anything to go on from: a run may have been stopped before it first saved."""
    folder, optimiser, mean = run.out, run.optimiser, run.mean
    if not (folder / "training").is_dir():
        if (folder / "model.safetensors").exists():
            raise UserError(f"{folder}: a model without its training/ folder cannot be trained further; train it again")
        return False
    state = model_folder.load_training(folder)
    if state["digest"] != run.material.digest:
        raise UserError(
            f"{run.recipe.data.name}: not the pairs that the run in {folder} began with; put them back as they were, "
            "or train on the new ones with another --out (and --init-from, to begin with what was learnt)"
        )
    valid = hash_pairs(run.material.valid)
    if state.get("valid_digest", valid) != valid:  # runs of version 0.1.0 do not have it
        raise UserError(
            f"{run.recipe.data.valid or run.recipe.data.name}: not the validation pairs that the run in {folder} began "
            "with, so that its scores would not compare; put them back as they were, or train with another --out"
        )
    try:
        run.model.load_state_dict(state["model"])
        if state["optimiser"]["param_groups"][0].keys() != optimiser.state_dict()["param_groups"][0].keys():
            raise ValueError("another optimiser")  # which would fail only at its first step
        optimiser.load_state_dict(state["optimiser"])
        run.precision.restore(state["precision"])
        if mean is not None:
            mean.count = state["mean"]["count"]
            for name, value in state["mean"]["weights"].items():
                mean.weights[name].copy_(value)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder / 'training'}: not of the model and optimiser that {folder / 'recipe.toml'} describes; "
            "put the recipe back as it was, or start anew with another --out"
        ) from error
    run.batches.restore(state["batches"])
    vars(run.standing).update(state["standing"])
    if run.workers.rank < len(state["random"]):
        _restore_chance(state["random"][run.workers.rank], run.device)
    else:  # one that was not there before
        seed_worker(run)
    return True


def seed_worker(run: Run) -> None:
    """A worker's own chance, of its dropout: other than that of the others, and of those before it."""
    entropy = (run.recipe.train.seed, run.workers.rank, run.standing.step)
    torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))


def _chance(device: torch.device) -> dict[str, Tensor]:
    on_device = {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"cpu": torch.get_rng_state(), **on_device}


def _restore_chance(state: dict[str, Tensor], device: torch.device) -> None:
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
