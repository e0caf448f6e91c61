"""Encoded pairs kept on disk, so that the second start is quick.

A kept corpus is a folder named by what it was made from. It is written beside its place and renamed, so it is there
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

from saccade.data import corpus as corpora
from saccade.data.corpus import Corpus, DamagedError

log = logging.getLogger(__name__)


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "saccade"


def cache_key(*made_from: str | int | float | None) -> str:
    """A name for a corpus: the files' digest, the vocabularies' hash, the split's, and every option that shaped it."""
    return hashlib.sha256(json.dumps([corpora.FORMAT, *made_from]).encode()).hexdigest()


def cached(folder: Path, name: str, build: Callable[[], Corpus]) -> Corpus:
    """The corpus kept in `folder` as `name`, mapped from disk; built and kept first where there is none, or a damaged
    one. A folder that cannot be written costs only the time that keeping would have saved."""
    place = folder / name
    try:
        return Corpus.load(place)
    except DamagedError as damage:
        if place.exists():
            log.warning("the encoded pairs are made again: %s", damage)
    corpus = build()
    reason: Exception | None = None
    try:
        _keep(corpus, place)
    except OSError as error:
        reason = error
    try:
        return Corpus.load(place)
    except DamagedError as damage:
        log.warning("the encoded pairs stay in memory, %s could not be written: %s", place, reason or damage)
        return corpus


def _keep(corpus: Corpus, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        corpus.save(unfinished)
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    finally:
        # Also what killed runs have left. A run that keeps the same pairs right now loses its copy, and loads ours.
        for leftover in place.parent.glob(f".{place.name}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
