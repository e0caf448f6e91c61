"""Lines of text files: UTF-8, plain or compressed; every mistake named with its file and line.

gzip and xz are told by their first bytes, whatever the name; `-` is standard input. A line ends with LF or CRLF; a byte
order mark is left out.
"""

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
from typing import Any, NamedTuple, cast

from saccade.errors import UserError
from saccade.names import closest

STDIN = "-"
_XZ_MEMORY = 256 << 20  # bytes; what xz -9 makes needs a quarter of it
_XZ_BYTES = 1 << 16  # read at a time
_TOO_MUCH_MEMORY = "Memory usage limit exceeded"  # the words of Python's lzma
LONGEST_LINE = 1 << 18  # bytes: longer than any text that a model of pairs reads, short enough to be a slip


class TextPair(NamedTuple):
    source: str
    target: str


def add_tag(pair: TextPair, tag: str | None) -> TextPair:
    return pair if tag is None else TextPair(f"{tag} {pair.source}", pair.target)


def hash_pairs(pairs: Iterable[TextPair]) -> str:
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
    with open_bytes(path) as raw, _unpacked(raw) as stream:
        number, byte = mark
        try:
            if byte:
                stream.seek(byte)
            while line := stream.readline(LONGEST_LINE + 2):
                yield (number, byte), _text(line, path, number)
                number, byte = number + 1, byte + len(line)
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            if str(error) == _TOO_MUCH_MEMORY:
                what = f"unpacking needs more than {_XZ_MEMORY >> 20} MiB of memory; compress the file again, by xz -9"
                raise line_error(path, number, what) from None
            raise line_error(
                path, number, f"the compressed file is cut off or damaged ({error}); make it again"
            ) from None


def _text(line: bytes, path: Path | str, number: int) -> str:
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE:
        raise line_error(path, number, f"more than {LONGEST_LINE:,} bytes without a line end; expected one text a line")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = "utf16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin1"
        convert = f"iconv -f {found} -t utf8" + ("" if path == STDIN else f" {shlex.quote(str(path))}")
        problem = f"byte {error.start + 1} of the line is 0x{line[error.start]:02X}, which is not UTF-8"
        raise line_error(path, number, f"{problem}; if the file is in {found}, convert it: {convert}") from None
    if "\0" in text:
        raise line_error(path, number, "holds a NUL character; expected text; without them: tr -d '\\000'")
    if number == 1:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r")


def line_error(path: Path | str, number: int, what: str) -> UserError:
    return UserError(f"{display_name(path)}:{number}: {what}")


def display_name(path: Path | str) -> str:
    return "standard input" if path == STDIN else str(path)


@contextmanager
def open_bytes(path: Path | str) -> Iterator[io.BufferedReader]:
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
        near = closest(path.name, (file.name for file in path.parent.iterdir()))
    except OSError:
        return f"; there is no folder {path.parent} either"
    return f"; did you mean {path.parent / near}?" if near else ""


@contextmanager
def _unpacked(stream: io.BufferedReader) -> Iterator[io.BufferedIOBase]:
    start = stream.peek(6)
    if start.startswith(b"\x1f\x8b"):
        with gzip.open(stream) as unpacked:
            yield unpacked
    elif start.startswith(b"\xfd7zXZ\0"):
        with io.BufferedReader(_XzReader(stream)) as unpacked:
            yield unpacked
    else:
        yield stream


class _XzReader(io.RawIOBase):
    """The bytes in an xz file, from its beginning. `lzma.open` would allocate whatever the file's header asks for."""

    def __init__(self, stream: io.BufferedReader) -> None:
        super().__init__()
        self._stream, self._place = stream, 0
        self._decoder = _xz_decoder()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self._decoder.eof:  # a file may hold several streams, and zeros after each
                packed = self._decoder.unused_data.lstrip(b"\0") or self._stream.read(_XZ_BYTES).lstrip(b"\0")
                if not packed:
                    return 0
                self._decoder = _xz_decoder()
            elif self._decoder.needs_input and not (packed := self._stream.read(_XZ_BYTES)):
                raise EOFError("it ends before its last byte")
            unpacked = self._decoder.decompress(packed, len(buffer))
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                self._place += len(unpacked)
                return len(unpacked)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Forwards only."""
        if whence != io.SEEK_SET or offset < self._place:
            raise io.UnsupportedOperation("a compressed file is read forwards")
        while self._place < offset and self.read(min(_XZ_BYTES, offset - self._place)):
            pass
        return self._place

    def tell(self) -> int:
        return self._place


def _xz_decoder() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
