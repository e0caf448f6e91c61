"""Lines of text files: UTF-8, plain or compressed. Every error names the file and the line.

gzip and xz are recognised by their first bytes, whatever the file's name; `-` is standard input. A line ends with LF or
CRLF; a byte order mark is removed.
"""

import gzip
import hashlib
import io
import lzma
import shlex
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from saccade.data.sources import Mark
from saccade.errors import UserError
from saccade.names import closest, is_stdin

LONGEST_LINE = 1 << 18  # bytes: longer than any text that a model of pairs reads, so that a missing line end is noticed
_XZ_MEMORY = 256 << 20  # bytes; a file compressed by xz -9 needs a quarter of it
_CHUNK = 1 << 16  # bytes to decompress at a time
_XZ_REFUSED = "Memory usage limit exceeded"  # the message of Python's lzma
_DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


class LoadedFile(NamedTuple):
    """A file whose bytes were read once and stay in memory."""

    path: Path | str
    content: bytes

    def __str__(self) -> str:
        return str(self.path)


class HashedFile(NamedTuple):
    """A file whose bytes are hashed while it is read, from the beginning to the end."""

    path: Path | str
    digest: Any  # of hashlib

    def __str__(self) -> str:
        return str(self.path)


File = Path | str | LoadedFile | HashedFile


def is_read_once(file: File) -> bool:
    """Tell whether the file can be read only once: standard input, or a pipe."""
    return isinstance(file, Path | str) and (is_stdin(file) or Path(file).is_fifo())


def read_lines(file: File) -> Iterator[str]:
    """Read the lines of a text file, without their line ends. An empty file has none."""
    return (line for _, line in marked_lines(file))


def marked_lines(file: File, mark: Mark = (1, 0)) -> Iterator[tuple[Mark, str]]:
    """Read the lines from a mark on, each with its own mark: its number and its first byte. A compressed file is
    decompressed from its beginning."""
    number, byte = mark
    with open_bytes(file) as packed, _unpack(packed) as stream:
        try:
            left = byte
            if byte and stream is packed:  # a pipe cannot seek, not even to 0
                stream.seek(byte)
            else:
                while left and (skipped := stream.read(min(left, _CHUNK))):
                    left -= len(skipped)
            while line := stream.readline(LONGEST_LINE + 2):
                yield (number, byte), _decode(line, file, number)
                number, byte = number + 1, byte + len(line)
        except _DAMAGE as error:
            raise _damage_error(file, number, error) from None


def digest_file(file: File) -> str:
    with open_bytes(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_size(file: File) -> int:
    if isinstance(file, LoadedFile):
        return len(file.content)
    return Path(str(file)).stat().st_size if Path(str(file)).exists() else 0  # a missing file is reported when read


def read_content(file: File) -> bytes:
    """Read a whole file, decompressed."""
    with open_bytes(file) as packed, _unpack(packed) as stream:
        try:
            return stream.read()
        except _DAMAGE as error:
            raise _damage_error(file, 1, error) from None


def _damage_error(file: File, number: int, error: Exception) -> UserError:
    problem = f"the compressed file is cut off or damaged ({error}); compress it again"
    if str(error) == _XZ_REFUSED:
        problem = f"unpacking needs more than {_XZ_MEMORY >> 20} MiB of memory; compress it again, with xz -9"
    return line_error(file, number, problem)


def _decode(line: bytes, file: File, number: int) -> str:
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE:
        problem = f"more than {LONGEST_LINE:,} bytes without a line end; expected one text per line"
        raise line_error(file, number, problem)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = "utf16" if line.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin1"
        convert = f"iconv -f {encoding} -t utf8" + ("" if is_stdin(str(file)) else f" {shlex.quote(str(file))}")
        problem = f"byte {error.start + 1} of the line is 0x{line[error.start]:02X}, which is not UTF-8"
        raise line_error(file, number, f"{problem}; if the file is in {encoding}, convert it: {convert}") from None
    if "\0" in text:
        raise line_error(file, number, "contains a NUL character; expected text; to remove them: tr -d '\\000'")
    if number == 1:
        text = text.removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r")


def line_error(file: File, number: int, problem: str) -> UserError:
    return UserError(f"{display_name(file)}:{number}: {problem}")


def display_name(file: File) -> str:
    return "standard input" if is_stdin(str(file)) else str(file)


@contextmanager
def open_bytes(file: File) -> Iterator[io.BufferedReader]:
    """Open a file as it is stored. If the system refuses, the error is one line."""
    if isinstance(file, LoadedFile) or is_stdin(str(file)):
        raw = io.BytesIO(file.content) if isinstance(file, LoadedFile) else sys.stdin.buffer
        buffered: io.BufferedReader = io.BufferedReader(cast("io.RawIOBase", raw))
        try:
            yield buffered
        finally:
            buffered.detach()  # leaves standard input open
        return
    path = Path(str(file))
    try:
        with path.open("rb") as stream:
            yield io.BufferedReader(_HashingReader(stream, file.digest)) if isinstance(file, HashedFile) else stream
    except FileNotFoundError:
        raise UserError(f"{path}: no such file{_suggest(path)}") from None
    except IsADirectoryError:
        raise UserError(f"{path}: a folder; expected a file{_suggest(path / 'pairs.tsv')}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def load_file(file: File) -> LoadedFile:
    if isinstance(file, LoadedFile):
        return file
    with open_bytes(file) as stream:
        return LoadedFile(str(file), stream.read())


def _suggest(path: Path) -> str:
    try:
        near = closest(path.name, (file.name for file in path.parent.iterdir()))
    except OSError:
        return f"; there is no folder {path.parent} either"
    return f"; did you mean {path.parent / near}?" if near else ""


@contextmanager
def _unpack(stream: io.BufferedReader) -> Iterator[io.BufferedIOBase]:
    start = stream.peek(6)
    if start.startswith(b"\x1f\x8b"):
        with gzip.open(stream) as unpacked:
            yield unpacked
    elif start.startswith(b"\xfd7zXZ\0"):
        with io.BufferedReader(_XzReader(stream)) as unpacked:
            yield unpacked
    else:
        yield stream


class _HashingReader(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader, digest: Any) -> None:
        super().__init__()
        self._stream, self._digest = stream, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._stream.readinto(buffer)
        self._digest.update(buffer[:count])
        return count


class _XzReader(io.RawIOBase):
    """Decompresses an xz file. `lzma.open` would allocate as much memory as the file's header asks for."""

    def __init__(self, stream: io.BufferedReader) -> None:
        super().__init__()
        self._stream, self._decoder = stream, _xz_decoder()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self._decoder.eof:  # a file may contain several streams, with zeros between them
                packed = self._decoder.unused_data.lstrip(b"\0") or self._stream.read(_CHUNK).lstrip(b"\0")
                if not packed:
                    return 0
                self._decoder = _xz_decoder()
            elif self._decoder.needs_input and not (packed := self._stream.read(_CHUNK)):
                raise EOFError("it ends before its last byte")
            unpacked = self._decoder.decompress(packed, len(buffer))
            if unpacked:
                buffer[: len(unpacked)] = unpacked
                return len(unpacked)


def _xz_decoder() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
