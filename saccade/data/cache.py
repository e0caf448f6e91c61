"""What is made of a corpus (drawn pairs, which of them were chosen, their encoding), kept for a quick second start.

What is kept is a folder named by what it was made from. It is written atomically, and about.json has the checksums:
if a byte has changed since, it is made again.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from saccade import files
from saccade.data.formats import PairFiles
from saccade.data.sources import ListedPairs, PairSource, ReversedPairs
from saccade.errors import UserError
from saccade.files import parse_json
from saccade.text import HasTexts

FORMAT = 3  # of the saved files
_ABOUT = "about.json"


class DamagedError(ValueError):
    """Saved files that are missing in part, cut off, changed, or of another version."""


def save_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Any) -> None:
    """Writes the arrays, then about.json with their checksums: without it, or against it, nothing is loaded."""
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
    write_checksums(folder, arrays, ".npy", about)


def load_arrays(folder: Path) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Raises DamagedError unless every byte is as it was saved."""
    names, about = verify_checksums(folder, ".npy")
    try:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in names}
    except (OSError, ValueError) as error:
        raise DamagedError(f"{folder}: {error}") from error
    return arrays, about


def write_checksums(folder: Path, names: Iterable[str], ending: str, about: Any) -> None:
    """Write about.json, with the checksums of the files of these names and that ending."""
    checksums = {name: _checksum(folder / f"{name}{ending}") for name in names}
    described = {"format": FORMAT, "checksums": checksums, "about": about}
    (folder / _ABOUT).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def verify_checksums(folder: Path, ending: str) -> tuple[list[str], Any]:
    """The names that about.json describes, of files with that ending, and what else it says; raises DamagedError unless
    every byte of them is as it was saved."""
    try:
        described = parse_json((folder / _ABOUT).read_bytes())
        if described["format"] != FORMAT:
            raise DamagedError(f"{folder} is of format {described['format']}, not {FORMAT}")
        for name, checksum in described["checksums"].items():
            if _checksum(folder / f"{name}{ending}") != checksum:
                raise DamagedError(f"{folder / name}{ending} is not as it was saved")
        return [*described["checksums"]], described["about"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{folder}: {error}") from error


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


log = logging.getLogger(__name__)


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "saccade"


def cache_key(*made_from: str | int | float | None) -> str:
    """A name for what is made: of the files' digest, the vocabularies' hash, and every option that shaped it."""
    return hashlib.sha256(json.dumps([FORMAT, *made_from]).encode()).hexdigest()


class Cacheable(Protocol):
    def save(self, folder: Path) -> None: ...


Built = TypeVar("Built", bound=Cacheable)


def load_or_build(folder: Path, name: str, build: Callable[[], Built], load: Callable[[Path], Built]) -> Built:
    """What is kept in `folder` as `name`, mapped from disk; built and kept first where there is none, or a damaged one.
    A folder that cannot be written costs only the time that keeping would have saved."""
    place = folder / name
    try:
        return load(place)
    except DamagedError as damage:
        if (place / _ABOUT).exists():
            log.warning("made again: %s", damage)
    made = build()
    reason: Exception | None = None
    try:
        with files.atomic_folder(place) as new:
            made.save(new)
    except (OSError, UserError) as error:
        reason = error
    try:
        return load(place)
    except DamagedError as damage:
        log.warning("the data stay in memory, since %s could not be written: %s", place, reason or damage)
        return made


_NAME, _ENDING = "pairs", ".tsv"


@dataclass(frozen=True, kw_only=True)
class TaskPairs:
    draw: Callable[[], Iterable[HasTexts]]  # gives the same pairs at every call
    file: Path | None = None  # where they are already

    def save(self, folder: Path) -> None:
        with (folder / f"{_NAME}{_ENDING}").open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{pair.source}\t{pair.target}\n" for pair in self.draw())
        write_checksums(folder, [_NAME], _ENDING, None)

    def load(self, folder: Path) -> "TaskPairs":
        """The same, as saved; raises DamagedError if a byte of it is missing or has changed."""
        verify_checksums(folder, _ENDING)
        return TaskPairs(draw=self.draw, file=folder / f"{_NAME}{_ENDING}")

    def open(self, *, reverse: bool) -> PairSource:
        found: PairSource = ListedPairs([*self.draw()]) if self.file is None else PairFiles(self.file)
        return ReversedPairs(found) if reverse else found
