"""Advisory locks: one process at a time writes an output file or a run folder.

The operating system releases the lock when the process that holds it ends, however it ends: the lock file of a killed
process locks nothing. A JSON file beside the lock file names the holder. Readers take no lock: a model can be used
while it is still being trained.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from saccade.errors import UserError
from saccade.files import explain_unwritable, parse_json

LOCK = ".lock"  # inside a folder; beside a file it is .NAME.lock
_SIGNING = 0.5  # seconds in which the holder of a lock has written its name


@contextmanager
def locked(path: Path, *, folder: bool = False) -> Iterator[None]:
    """Lock `path`, a file or a `folder`, in this block; raise UserError at once if another process holds the lock.

    A missing folder is created, and removed again if it is still empty at the end. Blocks may be nested.
    """
    from filelock import FileLock, Timeout

    created = _create(path) if folder else []
    real = path.resolve()  # two names of one file share a lock
    place = real / LOCK if folder else real.with_name(f".{real.name}{LOCK}")
    if not place.parent.is_dir():  # FileLock would create it
        raise UserError(f"{path}: cannot be written: there is no folder {place.parent}")
    holder = place.with_name(f"{place.name}.json")
    lock = FileLock(place, is_singleton=True)
    outermost = not lock.is_locked
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UserError(
            f"{path}: in use by {_described(holder)}; wait until it ends, or choose another place"
        ) from None
    except OSError as error:
        _remove_empty(created)
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        if outermost:
            _sign(holder, path)
        yield
    finally:
        if outermost:
            for leftover in (holder, place):  # before the release, so that these are not the next holder's
                with suppress(OSError):
                    leftover.unlink()
        lock.release()
        _remove_empty(created)


def entries(folder: Path) -> list[Path]:
    """The contents of a folder, without its lock."""
    return [path for path in folder.iterdir() if path.name not in (LOCK, f"{LOCK}.json")]


def _create(folder: Path) -> list[Path]:
    """Create a folder and its parents; return those that were missing, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise UserError(f"{folder}: a file is in the way; expected a folder, or a name that is free") from None
        raise UserError(f"{folder}: cannot be created: {error.strerror}; choose another place") from error
    return missing


def _remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):  # not empty
        for folder in folders:
            folder.rmdir()


def _sign(holder: Path, path: Path) -> None:
    """Record who holds the lock of `path`."""
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    known = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    with explain_unwritable(path):
        holder.unlink(missing_ok=True)  # left by a killed process, or a link in a foreign folder
        with holder.open("x", encoding="utf-8") as stream:
            stream.write(json.dumps(known) + "\n")


def _described(holder: Path) -> str:
    """Describe the holder of the lock; wait a moment for a process that has just taken it."""
    until = time.monotonic() + _SIGNING
    while True:
        try:
            known = parse_json(holder.read_bytes())
            return f"process {known['pid']} on {known['host']} since {known['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            if time.monotonic() > until:
                return "another process"
            time.sleep(0.02)
