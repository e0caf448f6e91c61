"""The folder of a run: its lock, its recipe and its model card."""

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from saccade import config, files
from saccade.errors import UserError
from saccade.locking import entries, locked
from saccade.provenance import provenance
from saccade.train.distributed import Workers
from saccade.train.learner import Learner
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
