"""Files on this machine or in an object store, by a path or by a URL such as s3://bucket/corpus.txt (fsspec)."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from saccade.data.text_files import open_bytes
from saccade.errors import UserError
from saccade.files import atomic_file, explain_unwritable, write_atomically

_TOKEN = 4  # bytes that tell the temporary files of several writers apart
_FAILURES = (OSError, ValueError)  # of storage: botocore and others raise subclasses of these


@dataclass(frozen=True)
class StoredFile:
    """A file or a folder. It can be sent to another process, which opens its own connection."""

    url: str

    def __str__(self) -> str:
        return self.url

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        try:
            system, path = url_to_fs(self.url)
        except (ImportError, ValueError) as error:
            raise UserError(f"{self.url}: {error}; expected a path, or a URL that fsspec can open") from None
        return system, path

    @property
    def local(self) -> Path | None:
        """The path on this machine; None for a file elsewhere."""
        from fsspec.implementations.local import LocalFileSystem

        system, path = self._opened
        return Path(path) if isinstance(system, LocalFileSystem) else None

    @property
    def absolute(self) -> "StoredFile":
        """The same file, whatever the working directory of the process."""
        folder = "/" if self.url.endswith("/") else ""
        return self if self.local is None else StoredFile(f"{self.local}{folder}")

    @property
    def name(self) -> str:
        return self.url.rstrip("/").rpartition("/")[2]

    def child(self, name: str) -> "StoredFile":
        return StoredFile(f"{self.url.rstrip('/')}/{name}")

    def is_folder(self) -> bool:
        return self.url.endswith("/") or (self.local is not None and self.local.is_dir())

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading. Whatever the storage refuses is one line."""
        if self.local is not None:
            with open_bytes(self.local) as stream:
                yield stream
            return
        system, path = self._opened
        with self._explain("read"), system.open(path, "rb") as stream:
            yield stream

    def read(self, start: int | None = None, end: int | None = None) -> bytes:
        """Read the bytes from `start` up to `end`, by default all of them."""
        system, path = self._opened
        with self._explain("read"):
            content: bytes = system.cat_file(path, start=start, end=end)
        return content

    def write(self, content: bytes) -> None:
        """Write the file as a whole: it exists with this content, or as before."""
        if self.local is not None:
            with explain_unwritable(self.local):
                self.local.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.local, content)
            return
        system, path = self._opened
        with self._explain("written"):
            # The upload of an object is atomic, but other remote file systems show a file while it grows.
            temporary = _temporary(path)
            system.pipe_file(temporary, content)
            system.mv(temporary, path)

    @contextmanager
    def create(self) -> Iterator[BinaryIO]:
        """Open for writing in pieces; the file appears at the end, or after an error not at all."""
        if self.local is not None:
            with atomic_file(self.local) as unfinished, unfinished.open("wb") as stream:
                yield stream
            return
        system, path = self._opened
        temporary = _temporary(path)
        with self._explain("written"):
            try:
                with system.open(temporary, "wb") as stream:
                    yield stream
                system.mv(temporary, path)
            except BaseException:
                if system.exists(temporary):
                    system.rm(temporary)
                raise

    def exists(self) -> bool:
        system, path = self._opened
        with self._explain("read"):
            return bool(system.exists(path))

    def names(self) -> set[str]:
        """The names in a folder; none if it does not exist."""
        system, path = self._opened
        with self._explain("read"):
            try:
                return {entry.rstrip("/").rpartition("/")[2] for entry in system.ls(path, detail=False, refresh=True)}
            except FileNotFoundError:
                return set()

    def remove(self) -> None:
        """Remove the file, or the folder with everything in it."""
        if self.local is not None and self.local.is_dir():
            shutil.rmtree(self.local, ignore_errors=True)
            return
        system, path = self._opened
        with self._explain("removed"):
            if system.exists(path):
                system.rm(path, recursive=True)

    @contextmanager
    def _explain(self, action: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise UserError(f"{self.url}: no such file") from None
        except _FAILURES as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"{self.url}: cannot be {action}: {reason}") from error


def _temporary(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}-{secrets.token_hex(_TOKEN)}"
