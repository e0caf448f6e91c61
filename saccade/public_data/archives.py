"""Unpack what is needed of a downloaded archive (tar.gz, zip) or compressed file (gz).

No name inside an archive becomes a path: members are compared with the names that are wanted, and written where the
caller says. So an archive cannot write anywhere else. Links and special files are refused, and so is an archive that
unpacks to more than a hundred times its size.
"""

import errno
import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from saccade.errors import UserError
from saccade.files import explain_unwritable

_RATIO = 100  # text seldom shrinks to less than a twentieth
_SMALL = 1 << 20  # bytes that any archive may unpack to
_CHUNK = 1 << 16  # bytes
# The last two: names that cannot be decoded, and versions of the format that do not exist.
_DAMAGE = (
    EOFError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    gzip.BadGzipFile,
    ValueError,
    NotImplementedError,
)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def unpack(archive: Path, members: Mapping[str, Path]) -> None:
    """Write each named member to its path. The name "" stands for the file itself, decompressed."""
    with _explain_damage(archive):
        kind = _first_bytes(archive)
        if list(members) == [""]:
            with gzip.open(archive) if kind.startswith(b"\x1f\x8b") else archive.open("rb") as stream:
                _write(_LimitedReader(stream, archive), members[""])
            return
        missing = dict(members)
        if kind.startswith(b"PK"):
            _unpack_zip(archive, missing)
        elif kind.startswith(b"\x1f\x8b"):
            _unpack_tar(archive, missing)
        else:
            raise UserError(f"{archive}: neither a zip nor a tar.gz archive: the server sent something else")
    if missing:
        raise UserError(f"{archive}: there is no {sorted(missing)[0]} in it: the original has changed")


def _unpack_tar(archive: Path, missing: dict[str, Path]) -> None:
    with gzip.open(archive) as stream, tarfile.open(fileobj=_LimitedReader(stream, archive), mode="r|") as tar:  # type: ignore[call-overload]
        for member in tar:
            place = missing.pop(member.name.removeprefix("./"), None)
            if place is None:
                continue
            content = tar.extractfile(member) if member.isreg() and not member.issparse() else None
            if content is None:
                raise _not_regular(archive, member.name)
            with content:
                _write(content, place)
            if not missing:
                return  # the rest may be large


def _unpack_zip(archive: Path, missing: dict[str, Path]) -> None:
    with zipfile.ZipFile(archive) as opened:
        left = _limit(archive)
        for name in opened.namelist():
            place = missing.pop(name.removeprefix("./"), None)
            if place is None:
                continue
            member = opened.getinfo(name)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG) or member.is_dir():
                raise _not_regular(archive, name)
            if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise UserError(f"{archive}: {name} is encrypted, or compressed in an unusual way: not unpacked")
            with opened.open(member) as stream:
                left = _write(_LimitedReader(stream, archive, left), place)


class _LimitedReader:
    """Reads a stream that decompresses, and stops a bomb before it is written."""

    def __init__(self, stream: _Readable, archive: Path, most: int | None = None) -> None:
        self._stream, self._archive = stream, archive
        self.left = _limit(archive) if most is None else most

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise UserError(
                f"{self._archive}: unpacks to more than {_RATIO} times its size, which no text does: not unpacked"
            )
        return data


def _limit(archive: Path) -> int:
    return max(_SMALL, _RATIO * archive.stat().st_size)


def _write(stream: _Readable | IO[bytes], place: Path) -> int:
    """Copy a stream to a file; return what is left of its limit."""
    with place.open("xb") as out:
        while data := stream.read(_CHUNK):
            with explain_unwritable(place):
                out.write(data)
    return getattr(stream, "left", 0)


def _not_regular(archive: Path, name: str) -> UserError:
    return UserError(f"{archive}: {name} is a link or a special file, not a regular one: not unpacked")


def _first_bytes(archive: Path) -> bytes:
    with archive.open("rb") as stream:
        return stream.read(4)


@contextmanager
def _explain_damage(archive: Path) -> Iterator[None]:
    try:
        yield
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, _DAMAGE) or error.errno == errno.EINVAL:  # a member that begins before the file does
            problem = "the server sent something else, or not all of it"
            raise UserError(f"{archive}: damaged ({error}): {problem}") from error
        raise
