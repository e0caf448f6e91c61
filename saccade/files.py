"""Atomic writes: a kill or a full disk at any moment leaves all of the old contents or all of the new.

One file is replaced by a rename (`atomic_file`, `write_atomically`). Several files that belong together need more: no
portable call replaces a folder that is not empty (`renameat2` with RENAME_EXCHANGE exists on Linux alone, for some file
systems), and a run's folder also holds files that must stay in place (an open log, a tokeniser). So `atomic_folder`
keeps a journal:

1. all new files are written to `.writing-*` inside the folder, and synced;     killed here: the old contents are valid
2. `.writing-*` is renamed to `.committed`, in one atomic step;                 from here on, the new ones are valid
3. each file of `.committed` is moved to its place, and `.committed` removed.   killed here: the next writer continues

Only writers move files. A reader may have got the folder from somebody else, so it changes nothing: `read` looks in
`.committed` first, then at the file's place. Neither follows a symbolic link below the folder. One process at a time
writes a folder: a second one removes the first one's `.writing-*` as a leftover, and the first one then fails without
having changed anything.

`parse_json` and `parse_toml` read text that somebody else wrote: whatever is wrong with it, they raise a ValueError.
Python's own parsers also raise RecursionError, and accept what fails later: values nested so deeply that nothing can
print them, and halves of surrogate pairs, which no file can hold.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path, PureWindowsPath
from typing import Any

from saccade.errors import UserError

_WRITING = ".writing-"
_COMMITTED = ".committed"
_TOKEN = 4  # bytes that tell the temporary files of several writers apart
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
DEEPEST = 100  # tables and lists inside each other; files of Saccade's own have a dozen
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to write to; at the end, all its files are in `folder`, or none after an error.

    A file replaces the one of the same relative path; all other files stay. Blocks may be nested: the yielded folder
    is a folder like any other.
    """
    with _explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        recover(folder)
        for leftover in folder.glob(_WRITING + "*"):
            shutil.rmtree(leftover) if _is_folder(leftover) else leftover.unlink()
        writing = folder / f"{_WRITING}{secrets.token_hex(4)}"  # not mkdtemp, which locks all other users out
        writing.mkdir()
        try:
            yield writing
            sync_tree(writing)
            writing.rename(folder / _COMMITTED)
        except BaseException:
            shutil.rmtree(writing, ignore_errors=True)
            raise
        sync(folder)
        recover(folder)


def recover(folder: Path) -> None:
    """Finish the work of a writer that was killed after its commit. For writers only: it moves files."""
    committed = folder / _COMMITTED
    if not _is_folder(committed):
        return
    refuse_links(committed)
    with _explained(folder):
        try:
            _move_files(committed, folder)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise UserError(f"{error.filename}: not what {committed} has there; copy the whole folder again") from error
        for parent, _, _ in os.walk(committed, topdown=False):
            with suppress(OSError):  # gone, or filled again by the next writer
                Path(parent).rmdir()


def read(folder: Path, name: str, *, most: int | None = None) -> bytes:
    """Read a file of the folder as it was last committed; a file of more than `most` bytes is refused unread."""
    while True:
        path = locate(folder, name)
        try:
            if most is not None and path.stat().st_size > most:
                raise UserError(f"{path}: {path.stat().st_size:,} bytes; expected at most {most:,}")
            return path.read_bytes()
        except FileNotFoundError as error:
            if path == folder / name:  # else the writer has just moved it to its place
                raise UserError(f"{path}: not found; expected a model's folder") from error
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from error


def locate(folder: Path, name: str) -> Path:
    """Where that file of the folder is now: in the journal if it is committed there, else at its place.

    The journal comes first, since files move from there to their places and never back.
    """
    place, committed = path_inside(folder, name), path_inside(folder, f"{_COMMITTED}/{name}")
    path = place if _mode(committed) is None else committed
    if not stat.S_ISREG(_mode(path) or stat.S_IFREG):
        raise UserError(f"{path}: not a regular file; copy the whole folder again")
    return path


def exists(folder: Path, name: str) -> bool:
    """Whether `read` would find that file."""
    return _mode(locate(folder, name)) is not None or _mode(folder / name) is not None  # it may move in between


def has_journal(folder: Path) -> bool:
    """Whether a writer has committed files that are not all at their places yet."""
    return _mode(folder / _COMMITTED) is not None


def refuse_links(folder: Path) -> None:
    """Refuse a folder that contains symbolic links: writing through one would change files outside the folder."""
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            _refuse_link(Path(parent, name))


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which becomes `path` at the end; after an error, `path` is as it was."""
    with _explained(path):
        temporary = path.with_name(f".{path.name}-{secrets.token_hex(_TOKEN)}")  # its own: several may write one cache
        try:
            yield temporary
            sync(temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.parent)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write one file; text is written as UTF-8."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, value: Any, *, allow_nan: bool = True) -> None:
    """Write one JSON file that people can read, too."""
    write_atomically(path, json.dumps(value, ensure_ascii=False, allow_nan=allow_nan, indent=2) + "\n")


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of `path` that killed processes have left. Only the holder of its lock may call this."""
    hexadecimal = "[0-9a-f]" * (2 * _TOKEN)
    for leftover in path.parent.glob(f".{escape(path.name)}-{hexadecimal}"):
        leftover.unlink(missing_ok=True)


def path_inside(folder: Path, name: str) -> Path:
    """`folder / name`, which must stay inside `folder` and pass no symbolic link; the folder itself may be one."""
    parts = PureWindowsPath(name)  # reads / and \\ both as separators, on every system
    # NUL ends a file name, and half a surrogate pair, which JSON may hold, is in none.
    if parts.anchor or ".." in parts.parts or not parts.parts or re.search("[\0\ud800-\udfff]", name):
        raise UserError(f"{name!r} is not a file inside {folder}; expected a relative path without '..'")
    path = folder
    for part in Path(name).parts:
        path /= part
        _refuse_link(path)
    return path


def split_paths(text: str) -> list[Path]:
    """Split paths at commas, except for commas in the name of an existing file, such as a run of a sweep."""
    parts, paths = text.split(","), []
    while parts:
        existing = (count for count in range(len(parts), 0, -1) if Path(",".join(parts[:count])).exists())
        count = next(existing, 1)
        paths += [Path(",".join(parts[:count]))] if any(parts[:count]) else []
        del parts[:count]
    return paths


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def parse_json(text: str | bytes) -> Any:
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > DEEPEST:
        _refuse_depth(value)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            half = ord(error.object[error.start])
            raise ValueError(f"\\u{half:04x} is half of a surrogate pair, not a character") from None
    return value


def parse_toml(text: str) -> dict[str, Any]:
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _refuse_depth(value)
    return value


@contextmanager
def explain_unwritable(path: Path) -> Iterator[None]:
    """Report a failed write as a mistake that the user can mend, except for a closed pipe."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def _explained(place: Path) -> Iterator[None]:
    """Report a full or read-only disk as a mistake that the user can mend, and say that nothing was lost."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise UserError(
                f"{place}: {error.strerror} while writing; what was there before is intact: free some space, then retry"
            ) from error
        if error.errno in _FORBIDDEN:
            raise UserError(f"{place}: cannot be written: {error.strerror}; nothing there was changed") from error
        raise


def _move_files(committed: Path, folder: Path) -> None:
    for parent, _, names in os.walk(committed):
        place = folder / Path(parent).relative_to(committed)
        if place != folder and not _is_folder(place):
            _make_folder(place)
        for name in names:
            with suppress(FileNotFoundError):  # another process has just moved it
                Path(parent, name).replace(place / name)
        sync(place)


def _is_folder(path: Path) -> bool:
    _refuse_link(path)
    return path.is_dir()


def _make_folder(place: Path) -> None:
    """Sync the new folder before files are moved there: a crash could lose it, and the files with it."""
    place.mkdir(exist_ok=True)
    sync(place.parent)


def _refuse_link(path: Path) -> None:
    mode = _mode(path)
    if mode is not None and stat.S_ISLNK(mode):
        raise UserError(f"{path}: a symbolic link, which is not followed; put a copy of what it points to in its place")


def _mode(path: Path) -> int | None:
    """The type and permissions of a path; None if it does not exist."""
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def sync_tree(folder: Path) -> None:
    """Write everything in the folder to disk before anything that is written later."""
    for parent, _, names in os.walk(folder):
        for name in names:
            sync(Path(parent, name))
        sync(Path(parent))


def sync(path: Path) -> None:
    """Make a file's content, or a folder's entries, survive a crash."""
    if os.name == "nt" and path.is_dir():  # Windows cannot open a folder, and orders changes to its entries itself
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_depth(value: Any) -> None:
    layer = [value]
    for _ in range(DEEPEST + 1):
        layer = [
            item
            for outer in layer
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not layer:
            return
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"more than {DEEPEST} lists or tables inside each other")
