"""Files in a folder, there as they were saved or not at all: about.json has their checksums. Arrays are mapped."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from saccade.files import parse_json

FORMAT = 2  # of the saved files
_ABOUT = "about.json"


class DamagedError(ValueError):
    """Saved files that are missing in part, cut off, changed, or of another version."""


def save_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Any) -> None:
    """Writes the arrays, then about.json with their checksums: without it, or against it, nothing is loaded."""
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
    describe(folder, arrays, ".npy", about)


def load_arrays(folder: Path) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Raises DamagedError unless every byte is as it was saved."""
    names, about = check(folder, ".npy")
    try:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in names}
    except (OSError, ValueError) as error:
        raise DamagedError(f"{folder}: {error}") from error
    return arrays, about


def describe(folder: Path, names: Iterable[str], ending: str, about: Any) -> None:
    """Write about.json, with the checksums of the files of these names and that ending."""
    checksums = {name: _checksum(folder / f"{name}{ending}") for name in names}
    described = {"format": FORMAT, "checksums": checksums, "about": about}
    (folder / _ABOUT).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def check(folder: Path, ending: str) -> tuple[list[str], Any]:
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
