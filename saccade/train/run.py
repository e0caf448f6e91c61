"""A training run: its parts, its folder (lock, recipe, card), and how it is saved and restored to the bit."""

import copy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
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
from saccade.provenance import provenance
from saccade.train.distributed import Workers
from saccade.train.learner import Learner, TrainingState
from saccade.train.log import Log
from saccade.train.optimisation import Precision, RunningAverage, build_optimiser, learning_rate
from saccade.train.recipe import MEASURED, RECIPE, Training

_MAY_BE_THERE = ("pairs.", ".pairs.", ".recipe.toml-")  # copies of the input, and what a kill this early leaves


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


def refuse_used_folder(out: Path) -> None:
    """A new run does not overwrite an old one."""
    if out.is_dir() and not all(path.name.startswith(_MAY_BE_THERE) for path in entries(out)):
        raise UserError(f"{out}: the folder is not empty; add --resume to continue its run, or give another --out")


@contextmanager
def hold_folder(workers: Workers, out: Path) -> Iterator[None]:
    """Lock the folder for this run; rank 0 holds the lock for all workers."""
    with ExitStack() as lock:
        workers.broadcast(lambda: lock.enter_context(locked(out, folder=True)))
        yield


@contextmanager
def clean_up_failed_start(out: Path) -> Iterator[None]:
    """Leave `out` as it was if the user's mistake ends the run before its first step, so that the corrected command
    works. A run that has begun has a `metrics.jsonl`, and keeps everything."""
    before = {path.name for path in out.iterdir()} if out.is_dir() else None
    try:
        yield
    except (UserError, OSError) as mistake:
        is_user_mistake = isinstance(mistake, OSError) or mistake.code == UserError.code
        if is_user_mistake and out.is_dir() and not (out / "metrics.jsonl").exists():
            for path in out.iterdir():
                if path.name not in (before or ()):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            if before is None:
                out.rmdir()
        raise


def model_card(learner: Learner[Any], model: nn.Module, best: Mapping[str, Any], seed: int, seconds: float) -> str:
    """The model, its data, its scores and how it was trained, as Markdown."""
    origin = provenance(seed=seed, command=shlex.join(["saccade", *sys.argv[1:]]))
    scores = "\n".join(f"| {name} | {_number(value)} |" for name, value in best.items() if value is not None)
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    notes = "\n".join(f"- {note}" for note in learner.notes)
    about = f"{learner.about} {sum(p.numel() for p in model.parameters()):,} parameters.".strip()
    return f"""# {learner.title}

{about}

| on the validation set | |
|---|---|
{scores}

## Data

{notes}

## Training

```bash
{origin["command"]}
```

Seed {seed}, {seconds / 60:.1f} minutes, {origin["date"]}, commit {origin["commit"]}; {versions}.
`recipe.toml` beside this file has every setting.

## Use

```python
{learner.usage}
```
"""


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_MOST_BAD_UPDATES = 20  # in a row that are not finite, before the run gives up


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    learner: Learner[Any]
    training: Training
    tables: dict[str, Any]  # of recipe.toml, beside [train]
    out: Path
    device: torch.device
    workers: Workers
    model: nn.Module
    optimiser: torch.optim.Optimizer
    precision: Precision
    average: RunningAverage | None
    log: Log
    state: TrainingState

    def with_training(self, **settings: Any) -> "TrainingRun":
        """The run with settings that were "auto" until now, saved in its recipe."""
        run = replace(self, training=replace(self.training, **settings))
        self.workers.broadcast(lambda: save_recipe(run.out, run.tables, run.training))
        return run

    def rehearsal(self, log: Log) -> "TrainingRun":
        """A copy for trial updates, which leave this run as it is."""
        model, precision, average, state = copy.deepcopy((self.model, self.precision, self.average, self.state))
        optimiser = build_optimiser(self.training, model)
        optimiser.load_state_dict(copy.deepcopy(self.optimiser.state_dict()))  # loading alone would share its tensors
        return replace(
            self,
            model=model,
            optimiser=optimiser,
            precision=precision,
            average=average,
            state=state,
            workers=Workers(),
            log=log,
        )

    @property
    def diverged(self) -> bool:
        """Whether so many updates in a row were not finite that more of them would not help."""
        return self.state.bad >= _MOST_BAD_UPDATES

    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        state = self.state
        return learning_rate(self.training, state.step, self.progress(), self.learner.batches.epochs, state.falls)

    def progress(self) -> float:
        """The share of the budget that is spent, 0 … 1."""
        training, state = self.training, self.state
        spent = [
            (state.step, training.max_steps),
            (self.learner.batches.epochs, training.max_epochs),
            (state.seconds / 60, training.max_minutes),
        ]
        return max(used / most if most else 1.0 for used, most in spent if most is not None)


def save_run(run: TrainingRun, save_model: Callable[[Path], None] | None = None) -> None:
    """Save what resuming needs and, in the same transaction, what `save_model` writes. All workers take part."""
    average = run.average
    saved = {
        "model": run.model.state_dict(),
        "optimiser": run.optimiser.state_dict(),
        "precision": run.precision.state(),
        "mean": None if average is None else {"count": average.count, "weights": average.weights},
        "batches": dict(run.learner.batches.state()),
        "data": {kind: data.digest for kind, data in run.learner.data.items()},
        "progress": vars(run.state),
        "random": run.workers.gather(_random_state(run.device)),  # one per worker
    }

    def write() -> None:
        with files.atomic_folder(run.out) as new:
            if save_model is not None:
                save_model(new)
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
        _restore_tensors(run, saved)
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


def _restore_tensors(run: TrainingRun, saved: dict[str, Any]) -> None:
    run.model.load_state_dict(saved["model"])
    if saved["optimiser"]["param_groups"][0].keys() != run.optimiser.state_dict()["param_groups"][0].keys():
        raise ValueError("another optimiser")  # which would fail only at its first step
    run.optimiser.load_state_dict(saved["optimiser"])
    run.precision.restore(saved["precision"])
    if run.average is not None:
        run.average.count = saved["mean"]["count"]
        for name, value in saved["mean"]["weights"].items():
            run.average.weights[name].copy_(value)


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
