"""The input and output of `saccade translate`: one text, or one JSON object with a text in it, per line."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from saccade.data import read_lines
from saccade.data.sources import get_text
from saccade.data.text_files import display_name, is_read_once, line_error
from saccade.decode.options import Constraints
from saccade.errors import UserError
from saccade.files import parse_json

SOURCE = "source"
CONSTRAINTS = "constraints"  # the field of an object that has constraints of its own


@dataclass(frozen=True, kw_only=True)
class Record:
    number: int  # of its line, from 1
    text: str
    line: str  # as it was read
    fields: frozenset[str] = frozenset()
    has_source: bool = False  # its text is in the field that the output has, too
    constraints: Constraints | None = None


@dataclass(frozen=True, kw_only=True)
class RecordFile:
    file: str  # or - for standard input
    has_objects: bool  # one JSON object per line
    field: str  # of an object: its text; a.b is the field b inside a
    lines: Iterable[str] | None = None  # in place of those of the file

    @classmethod
    def open(cls, file: str, lines: Iterable[str] | None, *, jsonl: bool, field: str) -> "RecordFile":
        bare = Path(file).name.lower().removesuffix(".gz").removesuffix(".xz")
        return cls(file=file, has_objects=jsonl or bare.endswith((".jsonl", ".ndjson")), field=field, lines=lines)

    @property
    def is_read_once(self) -> bool:
        return self.lines is not None or is_read_once(self.file)

    def __iter__(self) -> Iterator[Record]:
        for number, line in enumerate(read_lines(self.file) if self.lines is None else self.lines, 1):
            if self.has_objects and line.strip():
                yield self._record(number, line)
            else:
                yield Record(number=number, text=line, line=line)

    def with_constraints(self, constraints: Constraints | None, file: Path | None) -> Iterator[Record]:
        """Each record with its own constraints, those of its line in `file`, or those of all lines."""
        common = repeat(constraints) if file is None else read_constraints(file)
        for record in self:
            try:
                added = next(common)
            except StopIteration:
                before = f"{file}: {record.number - 1} lines"
                raise UserError(f"{before}, but there are more to translate; expected as many") from None
            if record.constraints is not None and (constraints is not None or file is not None):
                raise self.mistake(record.number, "has constraints of its own; give no others by options")
            yield record if added is None else replace(record, constraints=added)

    def mistake(self, number: int, reason: str) -> UserError:
        return line_error(self.file, number, reason)

    def _record(self, number: int, line: str) -> Record:
        try:
            parsed: Any = parse_json(line)
        except ValueError as error:
            raise self.mistake(number, f"not JSON ({error}); expected one object per line") from None
        if not isinstance(parsed, dict):
            raise self.mistake(number, f"{line[:20]}… is no object; expected {{{json.dumps(self.field)}: …}}")
        text = get_text(
            parsed, self.field, f"{display_name(self.file)}:{number}", "name the one to translate by --field"
        )
        try:
            own = None if parsed.get(CONSTRAINTS) is None else Constraints.from_json(parsed[CONSTRAINTS])
        except (UserError, ValueError) as error:
            raise self.mistake(number, f"constraints: {error}") from None
        return Record(
            number=number,
            text=text,
            line=line.strip(),
            fields=frozenset(parsed),
            has_source=self.field == SOURCE,
            constraints=own,
        )


def read_constraints(file: Path) -> Iterator[Constraints | None]:
    """The constraints of each line; None for a blank line."""
    for number, line in enumerate(read_lines(file), 1):
        try:
            yield Constraints.from_json(parse_json(line)) if line.strip() else None
        except (ValueError, UserError) as error:
            raise line_error(file, number, str(error)) from None


@dataclass(frozen=True, kw_only=True)
class JsonOutput:
    """A result as JSON, after the fields of its input record, which stay as they were written."""

    into: str | None  # put all new fields into this one

    def clash(self, record: Record, names: frozenset[str]) -> str | None:
        """A message about a field that both the record and the result have; None where there is none."""
        new = {self.into} if self.into is not None else names - {SOURCE} if record.has_source else names
        common = sorted(record.fields & new)
        if not common:
            return None
        other = "another name by --into" if self.into else "--into NAME, to put all new fields into one field NAME"
        return f"has a field {common[0]!r}, which the output has, too; rename it, or give {other}"

    def line(self, record: Record, result: dict[str, Any]) -> str:
        if self.into is not None:
            result = {self.into: result}
        elif record.has_source:
            result = {name: value for name, value in result.items() if name != SOURCE}
        new = json.dumps(result, ensure_ascii=False, allow_nan=False)
        return f"{record.line[:-1].rstrip()}, {new[1:]}" if record.fields else new
