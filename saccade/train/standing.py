"""How a run is put on disk and taken up again, to the bit."""

from pathlib import Path

import torch

from saccade import checkpoint
from saccade.errors import UserError
from saccade.train.run import Run


def save_standing(folder: Path, run: Run) -> None:
    mean = run.mean
    state = {
        "model": run.model.state_dict(),
        "optimiser": run.optimiser.state_dict(),
        "mean": None if mean is None else {"count": mean.count, "weights": mean.weights},
        "batches": dict(run.batches.state()),
        "standing": vars(run.standing),
        "random": torch.get_rng_state(),
        "cuda_random": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    checkpoint.save_training(folder, state)


def restore_standing(run: Run) -> bool:
    """Whether there was anything to go on from: a run may have been stopped before it first saved."""
    folder, optimiser, mean = run.out, run.optimiser, run.mean
    if not (folder / "training").is_dir():
        if (folder / "model.safetensors").exists():
            raise UserError(f"{folder}: a model without its training/ folder cannot be trained further; train it again")
        return False
    state = checkpoint.load_training(folder)
    try:
        run.model.load_state_dict(state["model"])
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
    run.batches.restore(state["batches"])
    vars(run.standing).update(state["standing"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["cuda_random"]:
        torch.cuda.set_rng_state_all(state["cuda_random"])
    return True
