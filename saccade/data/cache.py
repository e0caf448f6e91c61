"""What is made of a corpus (drawn pairs, which of them were chosen, their encoding), kept for a quick second start.

What is kept is a folder named by what it was made from. It is written beside its place and renamed, so it is there
whole or not at all; if its bytes have changed since, it is made again.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from saccade import files
from saccade.data.arrays import FORMAT, DamagedError

log = logging.getLogger(__name__)


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "saccade"


def cache_key(*made_from: str | int | float | None) -> str:
    """A name for what is made: of the files' digest, the vocabularies' hash, and every option that shaped it."""
    return hashlib.sha256(json.dumps([FORMAT, *made_from]).encode()).hexdigest()


class Kept(Protocol):
    def save(self, folder: Path) -> None: ...


Made = TypeVar("Made", bound=Kept)


def cached(folder: Path, name: str, build: Callable[[], Made], load: Callable[[Path], Made]) -> Made:
    """What is kept in `folder` as `name`, mapped from disk; built and kept first where there is none, or a damaged one.
    A folder that cannot be written costs only the time that keeping would have saved."""
    place = folder / name
    try:
        return load(place)
    except DamagedError as damage:
        if place.exists():
            log.warning("made again: %s", damage)
    made = build()
    reason: Exception | None = None
    try:
        _keep(made, place)
    except OSError as error:
        reason = error
    try:
        return load(place)
    except DamagedError as damage:
        log.warning("the data stay in memory, since %s could not be written: %s", place, reason or damage)
        return made


def _keep(made: Kept, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        made.save(unfinished)
        files.sync_tree(unfinished)
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    finally:
        # Also what killed runs have left. A run that keeps the same pairs right now loses its copy, and loads ours.
        for leftover in place.parent.glob(f".{place.name}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
