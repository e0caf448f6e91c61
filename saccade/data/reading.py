"""Pairs of texts from files: UTF-8, a pair a line, plain or compressed; every mistake named with its file and line.

One TSV file (source TAB target), or two files whose lines belong together; `-` is standard input. gzip and xz are told
by their first bytes, whatever the name. A line ends with LF or CRLF; a byte order mark is left out. A blank line is an
empty pair, so that a pair's number is always its line's.
"""

import difflib
import gzip
import hashlib
import io
import lzma
import shlex
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, cast

from saccade.errors import UserError

STDIN = "-"
LONGEST_LINE = 1 << 18  # bytes: longer than any text that a model of pairs reads, short enough to be a slip


class TextPair(NamedTuple):
    source: str
    target: str


@dataclass(frozen=True)
class PairFiles:
    """Pairs in one TSV file or in two parallel ones. Each pass over them reads the files anew, a line at a time."""

    source: Path | str
    target: Path | str | None = None

    def __iter__(self) -> Iterator[TextPair]:
        return _tsv(self.source) if self.target is None else _parallel(self.source, self.target)

    def __str__(self) -> str:
        return _name(self.source) if self.target is None else f"{_name(self.source)} and {_name(self.target)}"

    def kept_in(self, folder: Path) -> "PairFiles":
        """The same pairs, with what can be read only once (standard input, a pipe) copied into `folder`: training
        passes over its pairs several times, and finds them there again when it is resumed."""
        if self.target is None:
            return PairFiles(_kept(self.source, folder / "pairs.tsv"))
        if self.source == self.target == STDIN:
            raise UserError("standard input was given for both sides; give a file for one of them, or one TSV for both")
        return PairFiles(_kept(self.source, folder / "pairs.source"), _kept(self.target, folder / "pairs.target"))

    def digest(self) -> str:
        """sha256 of the files as they are on disk."""
        digests = ""
        for path in (self.source, self.target):
            if path is not None:
                with _opened(path) as stream:
                    digests += hashlib.file_digest(stream, "sha256").hexdigest()
        return hashlib.sha256(digests.encode()).hexdigest()


def read_lines(path: Path | str) -> Iterator[str]:
    """The lines of a text file, without their ends. Of an empty file there are none."""
    with _opened(path) as raw, _unpacked(raw) as stream:
        number = 1
        try:
            while line := stream.readline(LONGEST_LINE + 2):
                yield _text(line, path, number)
                number += 1
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise _mistake(
                path, number, f"the compressed file is cut off or damaged ({error}); make it again"
            ) from None


def _text(line: bytes, path: Path | str, number: int) -> str:
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE:
        raise _mistake(path, number, f"more than {LONGEST_LINE:,} bytes without a line end; expected one text a line")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = "utf16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin1"
        convert = f"iconv -f {found} -t utf8" + ("" if path == STDIN else f" {shlex.quote(str(path))}")
        problem = f"byte {error.start + 1} of the line is 0x{line[error.start]:02X}, which is not UTF-8"
        raise _mistake(path, number, f"{problem}; if the file is in {found}, convert it: {convert}") from None
    if "\0" in text:
        raise _mistake(path, number, "holds a NUL character; expected text; without them: tr -d '\\000'")
    if number == 1:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r")


def _tsv(path: Path | str) -> Iterator[TextPair]:
    number = 0
    for number, line in enumerate(read_lines(path), 1):
        texts = line.split("\t")
        if len(texts) == 2:
            yield TextPair(*texts)
        elif line.strip():
            wanted = "expected one, between source and target; for two parallel files, give both"
            raise _mistake(path, number, f"{len(texts) - 1} tabs in the line; {wanted}")
        else:
            yield TextPair("", "")
    if number == 0:
        raise _mistake(path, 1, "the file is empty; expected a pair of texts a line")


def _parallel(source: Path | str, target: Path | str) -> Iterator[TextPair]:
    sources = targets = 0
    for left, right in zip_longest(read_lines(source), read_lines(target)):
        sources += left is not None
        targets += right is not None
        if left is not None and right is not None:
            yield TextPair(left, right)
    if sources != targets or sources == 0:
        (fewer, short), (more, long) = sorted(((sources, source), (targets, target)), key=lambda side: side[0])
        found = f"the file ends before line {fewer + 1:,} and {_name(long)} has {more:,} lines"
        raise _mistake(short, fewer + 1, f"{found}; expected pairs: the same number of lines in both, at least one")


def _mistake(path: Path | str, number: int, what: str) -> UserError:
    return UserError(f"{_name(path)}:{number}: {what}")


def _name(path: Path | str) -> str:
    return "standard input" if path == STDIN else str(path)


@contextmanager
def _opened(path: Path | str) -> Iterator[io.BufferedReader]:
    """The raw bytes; what the system has against reading them is said in one line."""
    if path == STDIN:
        stdin: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
        try:
            yield stdin
        finally:
            stdin.detach()  # leaves standard input open
        return
    path = Path(path)
    try:
        with path.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise UserError(f"{path}: no such file{_nearest(path)}") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder; expected a file of pairs{_nearest(path / 'pairs.tsv')}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _nearest(path: Path) -> str:
    try:
        near = difflib.get_close_matches(path.name, [file.name for file in path.parent.iterdir()], 1, cutoff=0.5)
    except OSError:
        return f"; there is no folder {path.parent} either"
    return f"; did you mean {path.parent / near[0]}?" if near else ""


@contextmanager
def _unpacked(stream: io.BufferedReader) -> Iterator[io.BufferedIOBase]:
    start = stream.peek(6)
    if start.startswith(b"\x1f\x8b"):
        with gzip.open(stream) as unpacked:
            yield unpacked
    elif start.startswith(b"\xfd7zXZ\0"):
        with lzma.open(stream) as unpacked:
            yield unpacked
    else:
        yield stream


def _kept(path: Path | str, place: Path) -> Path | str:
    if path != STDIN and not Path(path).is_fifo():
        return path
    unfinished = place.with_name(f".{place.name}.unfinished")
    with _opened(path) as stream, unfinished.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return unfinished.replace(place)
