"""One writer at a time: the operating system keeps the lock, so that a dead process holds none."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.locking import entries, locked

HOLD = """
import sys
from pathlib import Path
from saccade.locking import locked
with locked(Path(sys.argv[1]), folder=sys.argv[2] == "folder"):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    """Another process holds `path`."""
    command = [sys.executable, "-c", HOLD, str(path), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
        if process.stdin is not None:
            process.stdin.close()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_lock_error_names_the_holder_and_a_dead_process_holds_none(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "here"
    with held_elsewhere(path, kind) as other:
        with pytest.raises(UserError) as refused, locked(path, folder=kind == "folder"):
            pass
        said = str(refused.value)
        assert f"{path}: in use by process {other.pid} on {socket.gethostname()} since 20" in said and "\n" not in said
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    assert list(tmp_path.rglob("*lock*"))  # what the killed process left behind …
    with locked(path, folder=kind == "folder"):  # … locks nothing
        pass
    assert not list(tmp_path.rglob("*lock*"))


def test_lock_error_waits_for_the_holders_name(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with held_elsewhere(path, "file") as other:
        signature = tmp_path / ".a.txt.lock.json"
        content = signature.read_bytes()
        signature.unlink()
        signing = threading.Timer(0.1, signature.write_bytes, [content])
        signing.start()
        with pytest.raises(UserError, match=f"in use by process {other.pid} "), locked(path):
            pass
        signing.join()
        signature.unlink()
        with pytest.raises(UserError, match="in use by another process"), locked(path):
            pass


def test_lock_of_one_path_leaves_others_free(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path / "a.txt", "file"), locked(tmp_path / "b.txt"), locked(tmp_path, folder=True):
        pass


def test_two_names_of_one_file_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    with (
        held_elsewhere(tmp_path / "a.txt", "file"),
        pytest.raises(UserError, match="in use"),
        locked(tmp_path / "link"),
    ):
        pass


def test_blocks_are_nested_and_the_outermost_releases(tmp_path: Path) -> None:
    with locked(tmp_path / "run", folder=True):
        with locked(tmp_path / "run", folder=True):
            (tmp_path / "run" / "made").touch()
        assert [path.name for path in entries(tmp_path / "run")] == ["made"]
        refused: list[str] = []

        def try_it() -> None:
            try:
                with locked(tmp_path / "run", folder=True):
                    pass
            except UserError as error:
                refused.append(str(error))

        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        assert f"in use by process {os.getpid()}" in refused[0]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["made"]


def test_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    run, victim = tmp_path / "run", tmp_path / "victim"
    run.mkdir()
    victim.write_text("mine")
    (run / ".lock.json").symlink_to(victim)
    with locked(run, folder=True):
        assert victim.read_text() == "mine"
    (run / ".lock").symlink_to(victim)
    with pytest.raises(UserError, match="run: cannot be written"), locked(run, folder=True):
        pass
    assert victim.read_text() == "mine"


def test_created_folder_is_removed_if_empty(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "b", folder=True):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []


def test_unwritable_place_is_reported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(UserError, match=f"{path}: a file is in the way"), locked(path, folder=True):
            pass
    with pytest.raises(UserError, match="cannot be written: there is no folder"), locked(tmp_path / "none" / "out.txt"):
        pass

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch, pytest.raises(UserError, match="cannot be created: Permission denied"):
        patch.setattr(Path, "mkdir", refuse)
        with locked(tmp_path / "new", folder=True):
            pass
    with monkeypatch.context() as patch, pytest.raises(UserError, match="cannot be written: Permission denied"):
        patch.setattr(Path, "open", refuse)
        with locked(tmp_path / "new", folder=True):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
