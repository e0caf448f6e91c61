"""Pairs of texts from files, in any of the usual formats. Every error names the file and the line.

| file | contents |
|---|---|
| two files | lines that belong together |
| `*.jsonl`, `*.ndjson` | one object per line with the fields `source` and `target`, or two others (nested: `a.b`) |
| `*.json` | an array of such objects, or one object per line |
| `*.csv` | the columns `source` and `target` under a header, or two others, or (by number) without a header |
| any other | TSV: source, tab, target; or the columns of two numbers |

Each may be compressed (`*.jsonl.xz`). A blank line is an empty pair, so that lines keep their numbers.
"""

import csv
import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat, zip_longest
from pathlib import Path
from typing import Any, ClassVar

from saccade.data import sources, text_files
from saccade.data.huggingface import HubPairs
from saccade.data.sources import DEFAULT_FIELDS, Fields, Mark, MarkedPairs, PairSource, TextPair
from saccade.data.text_files import File, HashedFile, LoadedFile, display_name, line_error, marked_lines
from saccade.errors import UserError, plural
from saccade.files import atomic_file, parse_json
from saccade.names import hub_name, is_stdin

_EMPTY = TextPair("", "")
_COLUMN = re.compile("[1-9][0-9]{0,5}")
_ATTRIBUTION = "CC-BY"  # how the third column of a ManyThings file begins: a licence and the authors
_JSON_LINES = (".jsonl", ".ndjson")


def open_pairs(
    pairs: str, targets: str | None = None, *, fields: Fields | None = None, reverse: bool = False
) -> PairSource:
    """Open a file, two parallel files or an `hf:` data set. Nothing is read yet."""
    source: PairSource
    if (hub := hub_name(pairs)) is not None:
        if targets is not None:
            raise UserError(f"{pairs} has both sides; leave {targets} out")
        source = HubPairs(hub, fields)
    else:
        source = PairFiles(pairs, targets, fields)
    return sources.ReversedPairs(source) if reverse else source


@dataclass(frozen=True)
class PairFiles(PairSource):
    """Pairs in one file or in two parallel ones. Each iteration reads the files again, one line at a time."""

    source: File
    target: File | None = None
    fields: Fields | None = None  # names of an object's fields, or names or numbers (from 1) of columns
    _digests: list[str] = field(default_factory=list, init=False, compare=False, repr=False)  # once all was read
    _contents: ClassVar[str] = "one pair of texts per line"

    def __post_init__(self) -> None:
        if is_stdin(str(self.source)) and is_stdin(str(self.target)):
            raise UserError("standard input was given for both sides; give a file for one of them, or one TSV for both")
        if self.target is not None and self.fields is not None:
            raise UserError(f"{self}: two files have no fields to choose from; leave out {', '.join(self.fields)}")

    @property
    def _files(self) -> list[File]:
        return [file for file in (self.source, self.target) if file is not None]

    def __str__(self) -> str:
        return " and ".join(map(display_name, self._files))

    def marked(self, mark: Mark | None = None) -> MarkedPairs:
        files, hashes = self._files, [hashlib.sha256() for _ in self._files]
        is_hashed = mark is None and not self._digests and not any(isinstance(file, LoadedFile) for file in files)
        if is_hashed:
            files = [HashedFile(str(file), digest) for file, digest in zip(files, hashes, strict=True)]
        last = None
        for last in self._read(files, mark):
            yield last
        if last is None and mark is None:
            raise line_error(self.source, 1, f"the file is empty; expected {self._contents}")
        if is_hashed:
            self._digests.extend(digest.hexdigest() for digest in hashes)

    def _read(self, files: Sequence[File], mark: Mark | None) -> MarkedPairs:
        return _read(files, self.fields, mark)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Read every field beside each pair: those of a JSON object; other files have none."""
        if self.target is not None or not _kind(self.source).startswith((".json", ".ndjson")):
            return repeat({})
        return (record or {} for _, _, record in _json_records(self.source, DEFAULT_FIELDS[0], None))

    def buffered_in(self, folder: Path) -> "PairFiles":
        """Copy what can be read only once (standard input, a pipe) into `folder`, so that training can read its pairs
        several times and a resumed run finds them again."""
        if self.target is None:
            return PairFiles(_buffer(self.source, folder / f"pairs{_kind(self.source)}"), None, self.fields)
        return PairFiles(_buffer(self.source, folder / "pairs.source"), _buffer(self.target, folder / "pairs.target"))

    def in_memory(self) -> "PairFiles":
        return self._loaded(text_files.load_file)

    def rereadable(self) -> "PairFiles":
        return self._loaded(lambda file: text_files.load_file(file) if text_files.is_read_once(file) else file)

    def _loaded(self, load: Callable[[File], File]) -> "PairFiles":
        return replace(self, source=load(self.source), target=self.target and load(self.target))

    def digest(self) -> str:
        """Return the sha256 of the files as they are on disk and of the fields that are read."""
        digests = self._digests or map(text_files.digest_file, self._files)
        return hashlib.sha256("".join([*(self.fields or ()), *digests]).encode()).hexdigest()

    def size(self) -> int:
        return sum(map(text_files.file_size, self._files))

    def version(self) -> tuple[int, ...]:
        paths = [Path(str(file)) for file in self._files]
        return tuple(path.stat().st_mtime_ns for path in paths if path.exists())


def has_named_fields(path: Path | str) -> bool:
    """Tell whether texts are found by a name, not by their place in a line."""
    return _kind(path) != ".tsv"


def _kind(file: File) -> str:
    """Tell the format from the file's name, without the ending of its compression."""
    name = Path(str(file)).name.lower().removesuffix(".gz").removesuffix(".xz")
    return next((kind for kind in (*_JSON_LINES, ".json", ".csv") if name.endswith(kind)), ".tsv")


def _read(files: Sequence[File], fields: Fields | None, start: Mark | None) -> MarkedPairs:
    if len(files) == 2:
        return _read_parallel(files[0], files[1], start or (1, 0, 0))
    kind = _kind(files[0])
    if kind == ".tsv":
        return _read_tsv(files[0], fields, start or (1, 0))
    return (_read_csv if kind == ".csv" else _read_json)(files[0], fields or DEFAULT_FIELDS, start)


def _read_tsv(file: File, fields: Fields | None, start: Mark) -> MarkedPairs:
    columns = None if fields is None else _column_numbers(fields)
    if fields is not None and columns is None:
        raise UserError(
            f"{display_name(file)}: a TSV has no header; give its columns by number, such as 1, 2, or name it *.csv"
        )
    for mark, line in marked_lines(file, start):
        texts = line.split("\t")
        if columns is not None and max(columns) < len(texts):
            yield mark, TextPair(texts[columns[0]], texts[columns[1]])
        elif columns is None and (len(texts) == 2 or (len(texts) == 3 and texts[2].startswith(_ATTRIBUTION))):
            yield mark, TextPair(*texts[:2])
        elif line.strip():
            raise line_error(file, mark[0], _explain_tabs(file, len(texts) - 1, columns))
        else:
            yield mark, _EMPTY


def _explain_tabs(file: File, tabs: int, columns: Sequence[int] | None) -> str:
    count = f"{plural(tabs, 'tab')} in the line"
    if columns is not None:
        return f"{count}; expected at least {max(columns)}, for column {max(columns) + 1}"
    advice = "for two parallel files, give both"
    if tabs > 1:
        example = "pairs.txt" if is_stdin(str(file)) else shlex.quote(str(file))
        cut = f"cut -f 1,2 {example} > two.tsv"
        advice = f'for the first two columns: {cut}, or train with --set \'data.fields=["1", "2"]\''
    return f"{count}; expected one, between source and target; {advice}"


def _read_parallel(source: File, target: File, start: Mark) -> MarkedPairs:
    sources = targets = start[0] - 1
    sides = marked_lines(source, start[:2]), marked_lines(target, start[::2])
    for left, right in zip_longest(*sides):
        sources += left is not None
        targets += right is not None
        if left is not None and right is not None:
            yield (*left[0], right[0][1]), TextPair(left[1], right[1])
    if sources != targets or sources == 0:
        (fewer, short), (more, long) = sorted(((sources, source), (targets, target)), key=lambda side: side[0])
        problem = f"the file ends before line {fewer + 1:,} and {display_name(long)} has {plural(more, 'line')}"
        raise line_error(short, fewer + 1, f"{problem}; expected the same number of lines in both, at least one")


def _read_json(file: File, fields: Fields, start: Mark | None) -> MarkedPairs:
    for mark, place, record in _json_records(file, fields[0], start):
        yield mark, _EMPTY if record is None else sources.get_pair(record, fields, place)


def _json_records(file: File, field: str, start: Mark | None) -> Iterator[tuple[Mark, str, Mapping[str, Any] | None]]:
    """Read (mark, place for messages, object) of each line, or of each item of an array; None for a blank line."""
    name, example = display_name(file), f"{{{json.dumps(field)}: …}}"
    if _kind(file) == ".json":
        file = text_files.load_file(file)
        content = text_files.read_content(file).removeprefix(b"\xef\xbb\xbf").lstrip()
        if content.startswith(b"["):
            items, first = _parse_json(content, f"{name}:", "an array of objects"), start[0] if start else 1
            if not items:
                raise UserError(f"{name}: the array is empty; expected one object per pair")
            for number, item in enumerate(items[first - 1 :], first):
                place = f"{name}: item {number:,}"
                if not isinstance(item, dict):
                    raise UserError(f"{place} is {json.dumps(item)[:20]}…, not an object; expected {example}")
                yield (number,), place, item
            return
    for mark, line in marked_lines(file, start or (1, 0)):
        place, record = f"{name}:{mark[0]}", None
        if line.strip():
            array = "; for an array of objects, name the file *.json" if line.lstrip().startswith("[") else ""
            record = _parse_json(line, f"{place}:", f"one object per line{array}")
            if not isinstance(record, dict):
                raise UserError(f"{place}: {line[:20]}… is not an object; expected {example}")
        yield mark, place, record


def _parse_json(text: str | bytes, place: str, expected: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise UserError(f"{place} not JSON ({error}); expected {expected}") from None


def _read_csv(file: File, fields: Fields, start: Mark | None) -> MarkedPairs:
    columns = _column_numbers(fields)
    rows = _csv_rows(file, start or (1, 0))
    if columns is None:
        _, header = next(rows if start is None else _csv_rows(file, (1, 0)), ((1, 0), []))
        if not header:
            return
        if missing := [field for field in fields if field not in header]:
            advice = f"the texts there are {', '.join(header)}; {sources.suggest_fields(dict.fromkeys(header, ''))}"
            raise line_error(file, 1, f"the header has no {missing[0]!r}; {advice}")
        columns = [header.index(field) for field in fields]
    for mark, row in rows:
        if max(columns) < len(row):
            yield mark, TextPair(row[columns[0]], row[columns[1]])
        elif any(row):
            problem = f"{plural(len(row), 'column')}; expected at least {max(columns) + 1}"
            raise line_error(file, mark[0], problem)
        else:
            yield mark, _EMPTY


def _csv_rows(file: File, start: Mark) -> Iterator[tuple[Mark, list[str]]]:
    """Read the rows, each with the mark of its first line: a quoted cell may continue on further lines."""
    stream = marked_lines(file, start)
    first = next(stream, None)
    if first is None:
        return
    header = first[1] if start == (1, 0) else next(text_files.read_lines(file))
    marks: list[Mark] = []

    def lines() -> Iterator[str]:
        for mark, line in chain([first], stream):
            marks.append(mark)
            yield line + "\n"

    rows = csv.reader(lines(), delimiter=";" if header.count(";") > header.count(",") else ",", strict=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise line_error(file, marks[0][0], f"not CSV ({error}); is a quote not closed?") from None
        if row is None:
            return
        yield marks[0], row
        marks.clear()


def _column_numbers(fields: Sequence[str]) -> list[int] | None:
    """Return the columns counted from 0, where both are given as numbers from 1."""
    return [int(field) - 1 for field in fields] if all(map(_COLUMN.fullmatch, fields)) else None


def _buffer(file: File, place: Path) -> File:
    if not text_files.is_read_once(file):
        return file
    with text_files.open_bytes(file) as stream, atomic_file(place) as temporary, temporary.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return place
