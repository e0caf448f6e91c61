"""A cache of what is computed from a corpus (drawn pairs, the selection, the encoding), for a quick second start.

An entry is a folder, named by a hash of its inputs and written atomically. Its about.json has the checksums of its
files: if a byte has changed since, the entry is built again. Arrays are mapped from disk.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from saccade import files
from saccade.data.formats import PairFiles
from saccade.data.sources import ListedPairs, PairSource, ReversedPairs
from saccade.data.text_files import digest_file
from saccade.errors import UserError
from saccade.files import parse_json
from saccade.text import HasTexts

FORMAT = 4  # of the saved files
_ABOUT = "about.json"
_PAIRS = "pairs.tsv"
log = logging.getLogger(__name__)


class DamagedError(ValueError):
    """A cache entry that is missing, incomplete, changed, or of another version."""


class Cacheable(Protocol):
    def save(self, folder: Path) -> None: ...


Built = TypeVar("Built", bound=Cacheable)


def cache_key(*inputs: str | int | float | None) -> str:
    """Hash the digest of the files, the hash of the vocabularies, and every option that has an effect."""
    return hashlib.sha256(json.dumps([FORMAT, *inputs]).encode()).hexdigest()


def load_or_build(folder: Path, name: str, build: Callable[[], Built], load: Callable[[Path], Built]) -> Built:
    """Load the entry `name` of the cache in `folder`, or build and save it where it is missing or damaged. If the
    folder cannot be written, the result stays in memory."""
    place = folder / name
    with suppress(OSError, UserError):
        files.recover(place)
    try:
        return load(place)
    except DamagedError as damage:
        if (place / _ABOUT).exists():
            log.warning("built again: %s", damage)
    built = build()
    reason: Exception | None = None
    try:
        with files.atomic_folder(place) as new:
            built.save(new)
    except (OSError, UserError) as error:
        reason = error
    try:
        return load(place)
    except DamagedError as damage:
        log.warning("the data stay in memory, since %s could not be written: %s", place, reason or damage)
        return built


def save_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Any) -> None:
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
    _write_checksums(folder, [f"{name}.npy" for name in arrays], about)


def load_arrays(folder: Path) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Map the arrays from disk; raise DamagedError unless every byte is as it was saved."""
    names, about = _verify_checksums(folder)
    try:
        arrays = {Path(name).stem: np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in names}
    except (OSError, ValueError) as error:
        raise DamagedError(f"{folder}: {error}") from error
    return arrays, about


def _write_checksums(folder: Path, names: Iterable[str], about: Any) -> None:
    checksums = {name: digest_file(folder / name) for name in names}
    contents = {"format": FORMAT, "checksums": checksums, "about": about}
    (folder / _ABOUT).write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")


def _verify_checksums(folder: Path) -> tuple[list[str], Any]:
    try:
        contents = parse_json((folder / _ABOUT).read_bytes())
        if contents["format"] != FORMAT:
            raise DamagedError(f"{folder} has format {contents['format']}, not {FORMAT}")
        for name, checksum in contents["checksums"].items():
            if digest_file(folder / name) != checksum:
                raise DamagedError(f"{folder / name} is not as it was saved")
        return [*contents["checksums"]], contents["about"]
    except (OSError, UserError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{folder}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class TaskPairs:
    """Pairs drawn from a task, saved to a file that is then read like any other."""

    draw: Callable[[], Iterable[HasTexts]]  # returns the same pairs at every call
    file: Path | None = None  # None: not saved yet

    def save(self, folder: Path) -> None:
        with (folder / _PAIRS).open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{pair.source}\t{pair.target}\n" for pair in self.draw())
        _write_checksums(folder, [_PAIRS], None)

    def load(self, folder: Path) -> "TaskPairs":
        _verify_checksums(folder)
        return TaskPairs(draw=self.draw, file=folder / _PAIRS)

    def open(self, *, reverse: bool) -> PairSource:
        pairs: PairSource = ListedPairs([*self.draw()]) if self.file is None else PairFiles(self.file)
        return ReversedPairs(pairs) if reverse else pairs
