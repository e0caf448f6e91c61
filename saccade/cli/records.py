"""What `saccade translate` is given: a text a line, or an object a line with a text in it, as it came."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.errors import UserError
from saccade.files import parse_json
from saccade.locations import STDIN

if TYPE_CHECKING:
    from saccade.cli.searching import Asked
    from saccade.decode import Constraints

OBJECTS = "JSON in and out"
SOURCE = "source"
CONSTRAINTS = "constraints"  # the field of an object that has its own


@dataclass(frozen=True, kw_only=True)
class Record:
    number: int  # of its line, from 1
    text: str
    line: str  # as it came
    fields: frozenset[str] = frozenset()
    has_source: bool = False  # its text is in the field that a result has it in
    constraints: "Constraints | None" = None


@dataclass(frozen=True, kw_only=True)
class Input:
    file: str  # or - for standard input
    objects: bool  # a JSON object a line
    field: str  # of an object: where its text is; nested by points

    @property
    def comes_once(self) -> bool:
        from saccade.data.formats import is_read_once

        return is_read_once(self.file)

    def __iter__(self) -> Iterator[Record]:
        from saccade.data import read_lines

        for number, line in enumerate(read_lines(self.file), 1):
            if self.objects and line.strip():
                yield self._record(number, line)
            else:
                yield Record(number=number, text=line, line=line)

    def mistake(self, number: int, what: str) -> UserError:
        from saccade.data.text_files import line_error

        return line_error(self.file, number, what)

    def _record(self, number: int, line: str) -> Record:
        from saccade.data.sources import get_text
        from saccade.data.text_files import display_name
        from saccade.decode import Constraints

        try:
            found: Any = parse_json(line)
        except ValueError as error:
            raise self.mistake(number, f"not JSON ({error}); expected an object a line") from None
        if not isinstance(found, dict):
            raise self.mistake(number, f"{line[:20]}… is no object; expected {{{json.dumps(self.field)}: …}}")
        text = get_text(
            found, self.field, f"{display_name(self.file)}:{number}", "name the one to translate by --field"
        )
        try:
            asked = None if found.get(CONSTRAINTS) is None else Constraints.from_json(found[CONSTRAINTS])
        except UserError as error:
            raise self.mistake(number, f"constraints: {error}") from None
        return Record(
            number=number,
            text=text,
            line=line.strip(),
            fields=frozenset(found),
            has_source=self.field == SOURCE,
            constraints=asked,
        )


def input_options(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A text a line, or *.jsonl; - is standard input.")
    ] = STDIN,
    jsonl_in: Annotated[
        bool,
        typer.Option("--jsonl-in", help="Read an object a line, from what is not named so.", rich_help_panel=OBJECTS),
    ] = False,
    field: Annotated[
        str, typer.Option(help="The field of an object to translate; a.b is b inside a.", rich_help_panel=OBJECTS)
    ] = SOURCE,
) -> Input:
    return Input(file=file, objects=jsonl_in or _holds_objects(file), field=field)


def answer_options(
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help="Print a JSON object a line, with alignment and all.", rich_help_panel=OBJECTS),
    ] = False,
    into: Annotated[
        str | None, typer.Option(help="Put all that is new into this one field.", rich_help_panel=OBJECTS)
    ] = None,
) -> "Answer | None":
    return Answer(into=into) if jsonl else None


def with_constraints(given: Input, asked: "Asked") -> Iterator[Record]:
    """Each with its own, those of its line in a file, or those of all."""
    every = asked.of_lines(None)
    each = every if isinstance(every, Iterator) else repeat(every)
    for record in given:
        try:
            found = next(each)
        except StopIteration:
            before = f"{asked.file}: {record.number - 1} lines"
            raise UserError(f"{before}, but there are more to translate; expected as many") from None
        if record.constraints is not None and every is not None:
            raise given.mistake(record.number, "has constraints of its own; give them there alone, not by options, too")
        yield record if found is None else replace(record, constraints=found)


def _holds_objects(file: str) -> bool:
    """Told by its name, compressed or not."""
    bare = Path(file).name.lower().removesuffix(".gz").removesuffix(".xz")
    return bare.endswith((".jsonl", ".ndjson"))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a result becomes an object beside what came with it, which stays as it was written."""

    into: str | None  # put all that is new into this one field

    def clash(self, record: Record, names: frozenset[str]) -> str | None:
        """What the fields of a record and those of a result have in common."""
        new = {self.into} if self.into is not None else names - {SOURCE} if record.has_source else names
        both = sorted(record.fields & new)
        if not both:
            return None
        other = "another name by --into" if self.into else "--into NAME, to put all that is new into one field NAME"
        return f"has a field {both[0]!r}, which the output has, too; rename it, or give {other}"

    def line(self, record: Record, found: dict[str, Any]) -> str:
        if self.into is not None:
            found = {self.into: found}
        elif record.has_source:
            found = {name: value for name, value in found.items() if name != SOURCE}
        new = json.dumps(found, ensure_ascii=False, allow_nan=False)
        return f"{record.line[:-1].rstrip()}, {new[1:]}" if record.fields else new
