"""Files that are whole or not there: a kill or a full disk at any moment leaves the old contents or the new.

One file is replaced by a rename. Several files that belong together need more, since no portable call replaces a
folder that is not empty (`renameat2` with RENAME_EXCHANGE is of Linux and of some file systems only), and since a run's
folder also holds what must stay where it is (a log that is open, a tokeniser that never changes). So a folder is
written as a journal is:

1. all new files are written to `.writing-*` inside the folder, and synced;      killed here: the old contents hold
2. `.writing-*` is renamed to `.committed`, in one atomic step;                   from here on: the new contents hold
3. each file of `.committed` is moved to its place, and `.committed` removed.     killed here: `settle` moves the rest

Readers call `settle` first. Step 3 is nothing but renames of finished files, so that any number of processes may do it
at once, the writer among them. One process at a time writes a folder: a second one removes the first one's
`.writing-*` as a leftover, and the first one fails without having changed anything.
"""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath

from saccade.errors import UserError

_WRITING = ".writing-"
_COMMITTED = ".committed"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yields an empty folder; on leaving, all that was written there is in `folder`, or (on any error) none of it.

    A file replaces the one of the same relative path; what has no new version stays. May be nested: the yielded folder
    is a folder like any other.
    """
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        for leftover in folder.glob(_WRITING + "*"):
            shutil.rmtree(leftover)
        writing = folder / f"{_WRITING}{secrets.token_hex(4)}"  # not mkdtemp, which locks all other users out
        writing.mkdir()
        try:
            yield writing
            _sync_tree(writing)
            writing.rename(folder / _COMMITTED)
        except BaseException:
            shutil.rmtree(writing, ignore_errors=True)
            raise
        _sync(folder)
        settle(folder)


def settle(folder: Path) -> None:
    """Finish what a killed writer had committed; call it before reading a folder that `atomic_folder` writes."""
    committed = folder / _COMMITTED
    if not committed.is_dir():
        return
    with _explained(folder):
        for parent, _, names in os.walk(committed):
            place = folder / Path(parent).relative_to(committed)
            place.mkdir(exist_ok=True)
            for name in names:
                with suppress(FileNotFoundError):  # another process has just moved it
                    Path(parent, name).replace(place / name)
            _sync(place)
        for parent, _, _ in os.walk(committed, topdown=False):
            with suppress(OSError):  # gone, or filled again by the next writer
                Path(parent).rmdir()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write one file: `path` holds its old content or all of `content`, at any moment. Text is written as UTF-8."""
    with _explained(path):
        temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")  # its own: several may write one cache
        try:
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)
            _sync(temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(path.parent)


def inside(folder: Path, name: str) -> Path:
    """`folder / name` where that stays inside `folder`; for names that come from a user or from a checkpoint."""
    path = PureWindowsPath(name)  # reads / and \\ both as separators, on every system
    escapes = path.anchor or ".." in path.parts or not path.parts or "\0" in name
    if escapes or not (folder / name).resolve().is_relative_to(folder.resolve()):  # a link may lead out, too
        raise UserError(f"{name!r} is not a file inside {folder}; expected a relative path without '..'")
    return folder / name


def listed(text: str) -> list[Path]:
    """Paths with commas between them. What exists may have commas in its name, as the runs of a sweep do."""
    parts, found = text.split(","), []
    while parts:
        whole = (count for count in range(len(parts), 0, -1) if Path(",".join(parts[:count])).exists())
        count = next(whole, 1)
        found += [Path(",".join(parts[:count]))] if any(parts[:count]) else []
        del parts[:count]
    return found


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _explained(place: Path) -> Iterator[None]:
    """A disk that is full or may not be written to is the user's to mend: say so, and that nothing was lost."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise UserError(
                f"{place}: {error.strerror} while writing; what was there before is intact: free some space and go on"
            ) from error
        if error.errno in _FORBIDDEN:
            raise UserError(f"{place}: cannot be written: {error.strerror}; nothing there was changed") from error
        raise


def _sync_tree(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            _sync(Path(parent, name))
        _sync(Path(parent))


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # Windows opens no folders, and keeps their entries in order by itself
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
