"""`sources.json`, beside the files of a data set: where they came from, under which licence, and all checksums.

The checksum of an original is "pinned" if it stands in the table of Saccade, and "recorded" if it is the one of the
first download, which every later download into this folder must have, too.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from saccade.errors import UserError
from saccade.files import exists, parse_json, path_inside, read

RECORD = "sources.json"
_LARGEST = 1 << 20  # bytes
_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, kw_only=True)
class RecordedOriginal:
    url: str
    bytes: int
    sha256: str
    checksum: Literal["pinned", "recorded"]


@dataclass(frozen=True, kw_only=True)
class RecordedFile:
    pairs: int
    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class SourceRecord:
    name: str
    source: str
    licence: str
    citation: str
    originals: tuple[RecordedOriginal, ...]
    files: Mapping[str, RecordedFile]

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """The record of a folder, or None if it has none."""
        if not folder.is_dir() or not exists(folder, RECORD):
            return None
        try:
            known = parse_json(read(folder, RECORD, most=_LARGEST))
            originals = tuple(RecordedOriginal(**original) for original in known.pop("originals"))
            files = {name: RecordedFile(**file) for name, file in known.pop("files").items()}
            record = cls(originals=originals, files=files, **known)
            digests = [item.sha256 for item in originals] + [item.sha256 for item in files.values()]
            if not all(map(_is_digest, digests)):
                raise ValueError("a checksum is not one of SHA-256")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{folder / RECORD}: not a record of saccade get ({error}); move it away, or choose another --out"
            ) from error
        return record

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def sha256_of(self, url: str) -> str | None:
        return next((original.sha256 for original in self.originals if original.url == url), None)

    def missing_files(self, folder: Path) -> list[str]:
        """The files that are not there. A file that was changed is not overwritten: it is an error."""
        missing = []
        for name, known in self.files.items():
            path = path_inside(folder, name)
            if not path.exists():
                missing.append(name)
            elif not path.is_file() or path.stat().st_size != known.bytes or digest(path) != known.sha256:
                raise UserError(
                    f"{path}: not the file that saccade get wrote (its checksum is another); move it away, "
                    "or choose another folder by --out"
                )
        return missing


def digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and set(text) <= _DIGITS
