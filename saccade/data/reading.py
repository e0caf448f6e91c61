"""Lines of text files: UTF-8, plain or compressed; every mistake named with its file and line.

gzip and xz are told by their first bytes, whatever the name; `-` is standard input. A line ends with LF or CRLF; a byte
order mark is left out.
"""

import difflib
import gzip
import hashlib
import io
import lzma
import shlex
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

from saccade.errors import UserError

STDIN = "-"
LONGEST_LINE = 1 << 18  # bytes: longer than any text that a model of pairs reads, short enough to be a slip


class TextPair(NamedTuple):
    source: str
    target: str


def tagged(pair: TextPair, tag: str | None) -> TextPair:
    return pair if tag is None else TextPair(f"{tag} {pair.source}", pair.target)


def digest_of(pairs: Iterable[TextPair]) -> str:
    """sha256 of all texts."""
    whole = hashlib.sha256()
    for pair in pairs:
        whole.update(repr(pair).encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


Mark = tuple[int, ...]
"""Where a pair begins: its line, or row, from 1; then whatever its reader needs to begin there again."""


def read_lines(path: Path | str) -> Iterator[str]:
    """The lines of a text file, without their ends. Of an empty file there are none."""
    return (line for _, line in marked_lines(path))


def marked_lines(path: Path | str, mark: Mark = (1, 0)) -> Iterator[tuple[Mark, str]]:
    """The same from a mark on, each with its own: the line's number and byte. In a compressed file, what is before it
    is read and dropped."""
    with opened(path) as raw, _unpacked(raw) as stream:
        number, byte = mark
        try:
            if byte:
                stream.seek(byte)
            while line := stream.readline(LONGEST_LINE + 2):
                yield (number, byte), _text(line, path, number)
                number, byte = number + 1, byte + len(line)
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise mistake(path, number, f"the compressed file is cut off or damaged ({error}); make it again") from None


def _text(line: bytes, path: Path | str, number: int) -> str:
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE:
        raise mistake(path, number, f"more than {LONGEST_LINE:,} bytes without a line end; expected one text a line")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = "utf16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin1"
        convert = f"iconv -f {found} -t utf8" + ("" if path == STDIN else f" {shlex.quote(str(path))}")
        problem = f"byte {error.start + 1} of the line is 0x{line[error.start]:02X}, which is not UTF-8"
        raise mistake(path, number, f"{problem}; if the file is in {found}, convert it: {convert}") from None
    if "\0" in text:
        raise mistake(path, number, "holds a NUL character; expected text; without them: tr -d '\\000'")
    if number == 1:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r")


def mistake(path: Path | str, number: int, what: str) -> UserError:
    return UserError(f"{name(path)}:{number}: {what}")


def name(path: Path | str) -> str:
    return "standard input" if path == STDIN else str(path)


@contextmanager
def opened(path: Path | str) -> Iterator[io.BufferedReader]:
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
