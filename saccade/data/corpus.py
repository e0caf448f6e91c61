"""Encoded pairs, and a report of those that were left out.

A side of a corpus is two arrays: all ids one after another, and where each text begins. They may lie in memory or be
mapped from files, so a corpus larger than memory costs none.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from saccade.data.split import Split, is_empty
from saccade.errors import UserError
from saccade.text import HasTexts, Vocabularies

FORMAT = 1  # of the saved files
SHOWN = 5  # line numbers that a report keeps of each kind


class DamagedError(ValueError):
    """Saved files that are missing in part, cut off, changed, or of another version."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of the pairs that were given. No pair is left out unsaid."""

    kept: int
    longest: int
    too_long: int
    empty: int
    first_too_long: tuple[int, ...]
    first_empty: tuple[int, ...]

    def __str__(self) -> str:
        said = f"kept {self.kept:,} of {self.kept + self.too_long + self.empty:,} pairs"
        for count, what, first in (
            (self.too_long, f"longer than {self.longest} pieces on a side", self.first_too_long),
            (self.empty, "empty on a side", self.first_empty),
        ):
            if count:
                places = ", ".join(map(str, first)) + (", …" if count > len(first) else "")
                said += f"; left out {count:,} {what} (line{'s' * (count > 1)} {places})"
        return said


class Side(NamedTuple):
    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]  # one more than there are texts

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    def __call__(self, index: int) -> npt.NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class Corpus:
    """Ids only: neither bos nor eos, which are a batch's business. `lines` has the line of the file for each pair."""

    source: Side
    target: Side
    lines: npt.NDArray[np.int64]
    report: Report

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def encode(
        cls,
        pairs: Iterable[HasTexts],
        vocabularies: Vocabularies,
        *,
        longest: int = 256,
        without: Split | None = None,
    ) -> Self:
        """`longest` is in pieces, on either side; pairs held out by `without` are passed over and not counted."""
        ids = (array("i"), array("i"))
        offsets = (array("q", [0]), array("q", [0]))
        lines, empty, too_long = array("q"), array("q"), array("q")
        for line, pair in enumerate(pairs, 1):
            if is_empty(pair):
                empty.append(line)
                continue
            if without is not None and pair in without:
                continue
            texts = (vocabularies.source.encode(pair.source), vocabularies.target.encode(pair.target))
            if max(map(len, texts)) > longest:
                too_long.append(line)
                continue
            lines.append(line)
            for side, text in enumerate(texts):
                ids[side].extend(text)
                offsets[side].append(len(ids[side]))
        report = Report(
            kept=len(lines),
            longest=longest,
            too_long=len(too_long),
            empty=len(empty),
            first_too_long=tuple(too_long[:SHOWN]),
            first_empty=tuple(empty[:SHOWN]),
        )
        if not lines:
            raise UserError(f"no pair is left: {report}; give pairs with text on both sides, or allow longer ones")
        source, target = (
            Side(np.frombuffer(flat, np.int32), np.frombuffer(ends, np.int64))
            for flat, ends in zip(ids, offsets, strict=True)
        )
        return cls(source, target, np.frombuffer(lines, np.int64), report)

    @property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "source_ids": self.source.ids,
            "source_offsets": self.source.offsets,
            "target_ids": self.target.ids,
            "target_offsets": self.target.offsets,
            "lines": self.lines,
        }

    def save(self, folder: Path) -> None:
        """Writes the arrays, then corpus.json with their checksums: without it, or against it, nothing is loaded."""
        checksums = {}
        for name, values in self._arrays.items():
            np.save(folder / f"{name}.npy", values, allow_pickle=False)
            checksums[name] = _checksum(folder / f"{name}.npy")
        about = {"format": FORMAT, "checksums": checksums, "report": asdict(self.report)}
        (folder / "corpus.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """The saved corpus, mapped from its files. Raises DamagedError unless every byte is as it was saved."""
        try:
            about = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
            arrays = {}
            for name, checksum in about["checksums"].items():
                if _checksum(folder / f"{name}.npy") != checksum:
                    raise DamagedError(f"{folder / name}.npy is not as it was saved")
                arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if about["format"] != FORMAT:
                raise DamagedError(f"{folder} is of format {about['format']}, not {FORMAT}")
            report: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in about["report"].items()}
            return cls(
                Side(arrays["source_ids"], arrays["source_offsets"]),
                Side(arrays["target_ids"], arrays["target_offsets"]),
                arrays["lines"],
                Report(**report),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"{folder}: {error}") from error


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
