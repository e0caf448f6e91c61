"""Arrays in a folder, there as they were saved or not at all: mapped from their files, against their checksums."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from saccade.parsing import parse_json

FORMAT = 2  # of the saved files
_ABOUT = "about.json"


class DamagedError(ValueError):
    """Saved files that are missing in part, cut off, changed, or of another version."""


def save_arrays(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], about: Any) -> None:
    """Writes the arrays, then about.json with their checksums: without it, or against it, nothing is loaded."""
    checksums = {}
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)
        checksums[name] = _checksum(folder / f"{name}.npy")
    described = {"format": FORMAT, "checksums": checksums, "about": about}
    (folder / _ABOUT).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def load_arrays(folder: Path) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Raises DamagedError unless every byte is as it was saved."""
    try:
        described = parse_json((folder / _ABOUT).read_bytes())
        if described["format"] != FORMAT:
            raise DamagedError(f"{folder} is of format {described['format']}, not {FORMAT}")
        arrays = {}
        for name, checksum in described["checksums"].items():
            if _checksum(folder / f"{name}.npy") != checksum:
                raise DamagedError(f"{folder / name}.npy is not as it was saved")
            arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return arrays, described["about"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{folder}: {error}") from error


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
