"""Pairs of texts from files, in any of the usual forms; every mistake is named with its file and line.

| file | holds |
|---|---|
| two files | lines that belong together |
| `*.jsonl`, `*.ndjson` | an object a line, with the fields `source` and `target`, or those named, nested too |
| `*.csv` | columns `source` and `target` under a header, or those named, or (by number) without a header |
| any other | TSV: source, tab, target; or the columns of those numbers |

Each may be compressed (`*.jsonl.xz`). A blank line is an empty pair, so that lines keep their numbers.
"""

import csv
import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Any

from saccade.data.text_files import (
    STDIN,
    Mark,
    TextPair,
    display_name,
    line_error,
    marked_lines,
    open_bytes,
    read_lines,
)
from saccade.errors import UserError
from saccade.files import parse_json

Fields = tuple[str, str]
MarkedPairs = Iterator[tuple[Mark, TextPair]]
DEFAULT_FIELDS: Fields = ("source", "target")
_EMPTY = TextPair("", "")
_COLUMN = re.compile("[1-9][0-9]{0,5}")


@dataclass(frozen=True)
class PairFiles:
    """Pairs in one file or in two parallel ones. Each pass over them reads the files anew, a line at a time."""

    source: Path | str
    target: Path | str | None = None
    fields: Fields | None = None  # of an object, or columns by name, or by number from 1

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in self.marked())

    def __str__(self) -> str:
        return (
            display_name(self.source)
            if self.target is None
            else f"{display_name(self.source)} and {display_name(self.target)}"
        )

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        """The pairs from a mark on, each with its own."""
        if self.target is not None:
            if self.fields is not None:
                raise UserError(f"{self}: two files have no fields to choose from; leave out {', '.join(self.fields)}")
            return _parallel(self.source, self.target, mark or (1, 0, 0))
        kind = _kind(self.source)
        if kind in (".jsonl", ".ndjson"):
            return _jsonl(self.source, self.fields or DEFAULT_FIELDS, mark or (1, 0))
        if kind == ".csv":
            return _csv(self.source, self.fields or DEFAULT_FIELDS, mark)
        return _tsv(self.source, self.fields, mark or (1, 0))

    def records(self) -> Iterator[Mapping[str, Any]]:
        """All that stands beside each pair, by name: the fields of an object a line; of other files, nothing."""
        if self.target is not None or _kind(self.source) not in (".jsonl", ".ndjson"):
            return repeat({})
        lines = enumerate(read_lines(self.source), 1)
        return (_object(line, self.source, number, "") if line.strip() else {} for number, line in lines)

    def buffered_in(self, folder: Path) -> "PairFiles":
        """The same pairs, with what can be read only once (standard input, a pipe) copied into `folder`: training
        passes over its pairs several times, and finds them there again when it is resumed."""
        if self.target is None:
            return PairFiles(_kept(self.source, folder / f"pairs{_kind(self.source)}"), None, self.fields)
        if self.source == self.target == STDIN:
            raise UserError("standard input was given for both sides; give a file for one of them, or one TSV for both")
        return PairFiles(_kept(self.source, folder / "pairs.source"), _kept(self.target, folder / "pairs.target"))

    def digest(self) -> str:
        """sha256 of the files as they are on disk, and of what is read of them."""
        digests = "".join(self.fields or ())
        for path in (self.source, self.target):
            if path is not None:
                with open_bytes(path) as stream:
                    digests += hashlib.file_digest(stream, "sha256").hexdigest()
        return hashlib.sha256(digests.encode()).hexdigest()

    def size(self) -> int:
        """Bytes on disk."""
        return sum(Path(path).stat().st_size for path in (self.source, self.target) if path is not None)


def has_named_fields(path: Path | str) -> bool:
    """Whether texts are found by a name, not by their place."""
    return _kind(path) != ".tsv"


def _kind(path: Path | str) -> str:
    """What is in a file, told by its name without that of its compression."""
    bare = Path(path).name.lower().removesuffix(".gz").removesuffix(".xz")
    return next((kind for kind in (".jsonl", ".ndjson", ".csv") if bare.endswith(kind)), ".tsv")


def _tsv(path: Path | str, fields: Fields | None, start: Mark) -> MarkedPairs:
    columns = None if fields is None else _numbers(fields)
    if fields is not None and columns is None:
        raise UserError(
            f"{display_name(path)}: a TSV has no header; give its columns by number, such as 1, 2, or name it *.csv"
        )
    mark: Mark | None = None
    for mark, line in marked_lines(path, start):
        texts = line.split("\t")
        if columns is not None and max(columns) < len(texts):
            yield mark, TextPair(texts[columns[0]], texts[columns[1]])
        elif len(texts) == 2 and columns is None:
            yield mark, TextPair(*texts)
        elif line.strip():
            wanted = "expected one, between source and target; for two parallel files, give both"
            if columns is not None:
                wanted = f"expected at least {max(columns)}, for column {max(columns) + 1}"
            raise line_error(path, mark[0], f"{len(texts) - 1} tabs in the line; {wanted}")
        else:
            yield mark, _EMPTY
    if mark is None and start[0] == 1:
        raise _empty(path)


def _parallel(source: Path | str, target: Path | str, start: Mark) -> MarkedPairs:
    sources = targets = start[0] - 1
    sides = marked_lines(source, start[:2]), marked_lines(target, start[::2])
    for left, right in zip_longest(*sides):
        sources += left is not None
        targets += right is not None
        if left is not None and right is not None:
            yield (*left[0], right[0][1]), TextPair(left[1], right[1])
    if sources != targets or sources == 0:
        (fewer, short), (more, long) = sorted(((sources, source), (targets, target)), key=lambda side: side[0])
        found = f"the file ends before line {fewer + 1:,} and {display_name(long)} has {more:,} lines"
        raise line_error(short, fewer + 1, f"{found}; expected pairs: the same number of lines in both, at least one")


def _jsonl(path: Path | str, fields: Fields, start: Mark) -> MarkedPairs:
    mark: Mark | None = None
    for mark, line in marked_lines(path, start):
        if not line.strip():
            yield mark, _EMPTY
            continue
        record = _object(line, path, mark[0], fields[0])
        yield mark, get_pair(record, fields, f"{display_name(path)}:{mark[0]}")
    if mark is None and start[0] == 1:
        raise _empty(path)


def _object(line: str, path: Path | str, number: int, field: str) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise line_error(path, number, f"not JSON ({error}); expected an object a line") from None
    if not isinstance(record, dict):
        raise line_error(path, number, f"{line[:20]}… is no object; expected {{{json.dumps(field)}: …}}")
    return record


def get_pair(record: Mapping[str, Any], fields: Fields, place: str) -> TextPair:
    """The texts of two fields, of which one may be nested: translation.en"""
    source, target = (get_text(record, field, place, _name_two(record)) for field in fields)
    return TextPair(source, target)


def get_text(record: Mapping[str, Any], field: str, place: str, otherwise: str) -> str:
    """The text of a field; `otherwise` tells how to name another."""
    value: Any = record
    for part in [field] if field in record else field.split("."):
        if not isinstance(value, Mapping) or part not in value:
            there = ", ".join(_fields_there(record)) or "none"
            raise UserError(f"{place}: there is no {field!r}; the texts there are {there}; {otherwise}")
        value = value[part]
    if not isinstance(value, str):
        given, there = json.dumps(value, ensure_ascii=False, default=repr), ", ".join(_fields_there(record)) or "none"
        raise UserError(
            f"{place}: {field!r} is {given[:30]}; expected a text; the texts there are {there}; {otherwise}"
        )
    return value


def _fields_there(record: Mapping[str, Any]) -> list[str]:
    named = [f"{key}.{inner}" for key, value in record.items() if isinstance(value, Mapping) for inner in value]
    return named + [key for key, value in record.items() if isinstance(value, str)]


def _name_two(record: Mapping[str, Any]) -> str:
    named = _fields_there(record)
    example = json.dumps(named[:2] if len(named) > 1 else ["en", "fr"], ensure_ascii=False)
    return f"name two by --set 'data.fields={example}'"


def _csv(path: Path | str, fields: Fields, start: Mark | None) -> MarkedPairs:
    columns = _numbers(fields)
    rows = _rows(path, start or (1, 0))
    if columns is None:
        named = rows if start is None else _rows(path, (1, 0))
        _, header = next(named, ((1, 0), []))
        missing = [field for field in fields if field not in header]
        if missing:
            there = f"the texts there are {', '.join(header)}; {_name_two(dict.fromkeys(header, ''))}"
            raise line_error(path, 1, f"the header has no {missing[0]!r}; {there}") if header else _empty(path)
        columns = [header.index(field) for field in fields]
    mark: Mark | None = start
    for mark, row in rows:
        if max(columns) < len(row):
            yield mark, TextPair(row[columns[0]], row[columns[1]])
        elif any(row):
            raise line_error(path, mark[0], f"{len(row)} columns; expected at least {max(columns) + 1}")
        else:
            yield mark, _EMPTY
    if mark is None:
        raise _empty(path)


def _rows(path: Path | str, start: Mark) -> Iterator[tuple[Mark, list[str]]]:
    """The rows, each with the mark of its first line: one in quotes may go over several."""
    first = next(marked_lines(path), (start, ""))[1]
    began: list[Mark] = []

    def lines() -> Iterator[str]:
        for mark, line in marked_lines(path, start):
            began.append(mark)
            yield line + "\n"

    rows = csv.reader(lines(), delimiter=";" if first.count(";") > first.count(",") else ",", strict=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise line_error(path, began[0][0], f"not CSV ({error}); is a quote not closed?") from None
        if row is None:
            return
        yield began[0], row
        began.clear()


def _numbers(fields: Sequence[str]) -> list[int] | None:
    """Columns from 0, where both are given as numbers from 1."""
    return [int(field) - 1 for field in fields] if all(map(_COLUMN.fullmatch, fields)) else None


def _empty(path: Path | str) -> UserError:
    return line_error(path, 1, "the file is empty; expected a pair of texts a line")


def is_read_once(path: Path | str) -> bool:
    """Whether it can be read only once: standard input, or a pipe."""
    return path == STDIN or Path(path).is_fifo()


def _kept(path: Path | str, place: Path) -> Path | str:
    if not is_read_once(path):
        return path
    unfinished = place.with_name(f".{place.name}.unfinished")
    with open_bytes(path) as stream, unfinished.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return unfinished.replace(place)
