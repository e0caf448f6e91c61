"""The finished parts of an output. A part that exists is complete, and belongs to one command and to its own lines."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.data.parts import InputPart
from saccade.data.storage import StoredFile
from saccade.errors import UserError, plural, say
from saccade.files import parse_json, sha256
from saccade.journal import AGAIN, explain_changes

RECORD = "_command.json"  # readers of data sets skip names with _
_KEY = 16  # hexadecimal digits
_PART = rf"part-\d{{6,}}-[0-9a-f]{{{_KEY}}}\.[a-z]+"
_OWN = re.compile(rf"{_PART}|{RECORD}|\.({_PART}|{RECORD})-[0-9a-f]+")  # with temporary files of killed workers


@dataclass(frozen=True, kw_only=True)
class PartFolder:
    """`command` is what must be the same for an interrupted command to continue.

    The name of a part's file contains a digest of the command and of the part's lines. A worker of an earlier command
    that is still alive therefore cannot replace a part of this one.
    """

    folder: StoredFile
    suffix: str  # .txt, .jsonl or .parquet
    command: Mapping[str, Any]

    def name(self, part: InputPart) -> str:
        key = sha256(f"{json.dumps(self.command, sort_keys=True)}\n{part.digest}".encode())[:_KEY]
        return f"part-{part.number:06}-{key}{self.suffix}"

    def file(self, part: InputPart) -> StoredFile:
        return self.folder.child(self.name(part))

    def begin(self, parts: Sequence[InputPart], *, restart: bool) -> list[InputPart]:
        """Record the command; return the parts that are not finished. Another command or other lines are refused."""
        if restart:
            self.clear()
        names = self.folder.names()
        self._compare(names)
        expected = {self.name(part) for part in parts}
        if changed := sorted(name for name in names - expected if re.fullmatch(_PART, name)):
            raise UserError(
                f"{self.folder}: {changed[0]} was made from other lines: the input has changed; restore it to "
                f"continue, or {AGAIN}"
            )
        if RECORD not in names:
            self.folder.child(RECORD).write((json.dumps(self.command, indent=2) + "\n").encode())
        left = [part for part in parts if self.name(part) not in names]
        if len(left) < len(parts):
            finished = len(parts) - len(left)
            say(f"saccade: continuing: {finished:,} of {plural(len(parts), 'part')} finished in {self.folder}")
        return left

    def clear(self) -> None:
        """Remove the parts and the record, and no other file."""
        for name in self.folder.names():
            if _OWN.fullmatch(name):
                self.folder.child(name).remove()

    def remove(self) -> None:
        self.clear()
        if not self.folder.names():
            self.folder.remove()

    def _compare(self, names: set[str]) -> None:
        record = self.folder.child(RECORD)
        if RECORD not in names:
            if names:
                raise UserError(
                    f"{self.folder}: has files, and no record of the command that made them; choose another place"
                )
            return
        try:
            before = {**parse_json(record.read())}
        except (ValueError, TypeError):
            raise UserError(f"{record}: damaged, so that nothing can be continued; {AGAIN}") from None
        if (changes := explain_changes(before, self.command)) is not None:
            raise UserError(
                f"{self.folder}: made by another command: {changes}; type the same command to continue, or {AGAIN}"
            )


def join_parts(files: Sequence[StoredFile], out: StoredFile) -> None:
    """Write the parts one after the other to `out`, which exists only when it is complete."""
    with out.create() as joined:
        if Path(out.name).suffix == ".parquet":
            from saccade.decode.cluster.tables import append_tables

            append_tables(files, joined)
            return
        for file in files:
            joined.write(file.read())
