"""The folder of a run, before its first step: a new run takes an unused one, a resumed run its own."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from saccade import files
from saccade.errors import UserError
from saccade.locking import entries, locked
from saccade.train.distributed import Workers
from saccade.train.recipe import MEASURED, Recipe, load_saved_recipe

_MAY_BE_THERE = ("pairs.", ".pairs.", ".recipe.toml-")  # copies of standard input, and what a kill this early leaves


def prepare(out: Path, recipe: Recipe, resume: bool) -> Recipe:
    """The recipe as it is kept in `out`: what came by standard input is a file there from now on."""
    if resume and not (out / "recipe.toml").exists():
        raise UserError(f"{out}: there is no run to resume; leave --resume out to start one")
    if not resume:
        refuse_used_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    files.refuse_links(out)  # a run that somebody else made must not lead the log and the cache elsewhere
    files.recover(out)
    for name in ("metrics.jsonl", "recipe.toml", "config.json"):
        files.remove_leftovers(out / name)
    if not resume:
        recipe = replace(recipe, data=recipe.data.kept_in(out))
        save_recipe(out, recipe)
    else:  # what was decided when the run began stays
        decided = load_saved_recipe(out).train
        own = {name: getattr(decided, name) for name in MEASURED if getattr(recipe.train, name) == "auto"}
        recipe = replace(recipe, train=replace(recipe.train, **own))
    return recipe


def save_recipe(out: Path, recipe: Recipe) -> None:
    """As the run has it now: a resumed one may have been given another budget."""
    place, text = out / "recipe.toml", recipe.to_toml()
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        files.write_atomically(place, text)


def refuse_used_folder(out: Path) -> None:
    """A new run does not write over an old one."""
    if out.is_dir() and not all(path.name.startswith(_MAY_BE_THERE) for path in entries(out)):
        raise UserError(f"{out}: the folder is not empty; add --resume to go on with its run, or give another --out")


@contextmanager
def hold_folder(workers: Workers, out: Path) -> Iterator[None]:
    """The folder is written by this run alone until the block is left: the leader locks it for all its workers."""
    with ExitStack() as lock:
        workers.broadcast(lambda: lock.enter_context(locked(out, folder=True)))
        yield


@contextmanager
def clean_up_failed_start(out: Path) -> Iterator[None]:
    """What the user must mend (a mistake, a file that cannot be read), found before the first step, leaves `out` as it
    was: the same command, once that is mended, then works. A run that has begun has a `metrics.jsonl`, and keeps all.
    """
    before = {path.name for path in out.iterdir()} if out.is_dir() else None
    try:
        yield
    except (UserError, OSError) as mistake:
        mine = isinstance(mistake, OSError) or mistake.code == UserError.code
        if mine and out.is_dir() and not (out / "metrics.jsonl").exists():
            for path in out.iterdir():
                if path.name not in (before or ()):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            if before is None:
                out.rmdir()
        raise
