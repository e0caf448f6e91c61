import errno
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from saccade import files
from saccade.errors import UserError


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def save(folder: Path, version: str) -> None:
    with files.atomic_folder(folder) as new:
        (new / "sub").mkdir()
        for name in ("a", "b", "sub/c"):
            (new / name).write_text(version)


def test_new_files_replace_the_old_and_the_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    save(folder, "old")
    (folder / "log").write_text("kept")
    save(folder, "new")
    assert contents(folder) == {"a": "new", "b": "new", "sub/c": "new", "log": "kept"}
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "log", "sub"]


def test_error_inside_a_write_changes_nothing(tmp_path: Path) -> None:
    save(tmp_path, "old")
    with pytest.raises(KeyboardInterrupt), files.atomic_folder(tmp_path) as new:
        (new / "a").write_text("new")
        raise KeyboardInterrupt
    assert contents(tmp_path) == {"a": "old", "b": "old", "sub/c": "old"}
    assert not list(tmp_path.glob(".*"))


def test_nested_write_is_part_of_the_outer_one(tmp_path: Path) -> None:
    save(tmp_path, "old")
    with pytest.raises(ZeroDivisionError), files.atomic_folder(tmp_path) as new:
        save(new, "new")
        _ = 1 / 0
    assert set(contents(tmp_path).values()) == {"old"}
    with files.atomic_folder(tmp_path) as new:
        save(new, "new")
        (new / "card").write_text("new")
    assert contents(tmp_path) == {"a": "new", "b": "new", "sub/c": "new", "card": "new"}


def test_killed_writer_leaves_old_or_new_contents(tmp_path: Path) -> None:
    """Stopped at every system call that changes something, one after the other: always all old, or all new."""
    outcomes = set()
    for moment in range(100):
        folder = tmp_path / str(moment)
        save(folder, "old")
        killed = stopped_at(moment, folder)
        files.recover(folder)
        left = {name: text for name, text in contents(folder).items() if not name.startswith(".writing-")}
        assert left in (dict.fromkeys(("a", "b", "sub/c"), v) for v in ("old", "new")), f"mixed at moment {moment}"
        outcomes.add(left["a"])
        save(folder, "newer")
        assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "sub"]
        if not killed:
            break
    assert outcomes == {"old", "new"} and not killed


def stopped_at(moment: int, folder: Path) -> bool:
    """Run a save in a child that leaves by os._exit, as a SIGKILL would, before its `moment`-th change of the disk."""
    program = """
import os, sys
from pathlib import Path
from saccade import files
left = int(sys.argv[2])
def audit(event, args):
    global left
    changes = event in ("os.rename", "os.mkdir", "os.rmdir", "os.remove") or (event == "open" and args[1] == "w")
    if changes and str(args[0]).startswith(sys.argv[1]):
        left -= 1
        if left < 0:
            os._exit(9)
sys.addaudithook(audit)
with files.atomic_folder(Path(sys.argv[1])) as new:
    (new / "sub").mkdir()
    for name in ("a", "b", "sub/c"):
        (new / name).write_text("new")
"""
    run = subprocess.run([sys.executable, "-c", program, str(folder), str(moment)], check=False)
    assert run.returncode in (0, 9)
    return run.returncode == 9


def test_writer_finishes_an_earlier_commit(tmp_path: Path) -> None:
    (tmp_path / ".committed").mkdir()
    (tmp_path / ".committed" / "kept").write_text("committed")
    (tmp_path / ".committed" / "a").write_text("committed")
    save(tmp_path, "new")
    assert contents(tmp_path) == {"a": "new", "b": "new", "sub/c": "new", "kept": "committed"}


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """A folder whose writer was killed after it had committed `a` and `sub/c`, before it moved them."""
    folder = tmp_path / "model"
    save(folder, "old")
    (folder / ".committed" / "sub").mkdir(parents=True)
    for name in ("a", "sub/c"):
        (folder / ".committed" / name).write_text("new")
    return folder


def test_reader_sees_committed_files_and_moves_nothing(committed: Path) -> None:
    before = contents(committed)
    assert [files.read(committed, name) for name in ("a", "b", "sub/c")] == [b"new", b"old", b"new"]
    assert files.exists(committed, "sub/c") and not files.exists(committed, "d")
    assert files.locate(committed, "b") == committed / "b"
    assert contents(committed) == before
    with pytest.raises(UserError, match="d: not found"):
        files.read(committed, "d")
    with pytest.raises(UserError, match="3 bytes; expected at most 2"):
        files.read(committed, "a", most=2)


def test_file_that_moves_during_a_read_is_found(committed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes

    def late(self: Path) -> bytes:
        files.recover(committed)
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", late)
    assert files.read(committed, "a") == b"new"


def test_no_link_in_a_folder_is_followed(tmp_path: Path, committed: Path) -> None:
    """What a downloaded folder may hold, since archives keep links: neither readers nor writers go where they lead."""
    victim = tmp_path / "victim"
    (victim / "ssh").mkdir(parents=True)
    (victim / "a").write_text("precious")
    (victim / "ssh" / "keys").write_text("precious")
    before = contents(victim)

    linked_file = tmp_path / "linked-file"
    save(linked_file, "old")
    (linked_file / "a").unlink()
    (linked_file / "a").symlink_to(victim / "a")

    linked_journal = tmp_path / "linked-journal"
    save(linked_journal, "old")
    (linked_journal / ".committed").symlink_to(victim)

    linked_place = tmp_path / "linked-place"
    (linked_place / ".committed" / "extra").mkdir(parents=True)
    (linked_place / ".committed" / "extra" / "keys").write_text("evil")
    (linked_place / "extra").symlink_to(victim / "ssh")

    (committed / ".committed" / "b").symlink_to(victim / "a")
    for folder, name in ((linked_file, "a"), (linked_journal, "a"), (linked_place, "extra/keys"), (committed, "b")):
        with pytest.raises(UserError, match="a symbolic link, which is not followed"):
            files.read(folder, name)
    for folder in (linked_journal, linked_place, committed):
        with pytest.raises(UserError, match="a symbolic link, which is not followed"):
            save(folder, "new")
    (linked_file / ".writing-1").symlink_to(victim)
    with pytest.raises(UserError, match="a symbolic link, which is not followed"):
        save(linked_file, "new")
    assert contents(victim) == before


def test_folder_itself_may_be_a_link(tmp_path: Path, committed: Path) -> None:
    (tmp_path / "link").symlink_to(committed)
    assert files.read(tmp_path / "link", "a") == b"new"
    save(tmp_path / "link", "newer")
    assert set(contents(committed).values()) == {"newer"}


def test_special_file_is_refused(tmp_path: Path, committed: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # reading it would wait for ever
    with pytest.raises(UserError, match="not a regular file"):
        files.read(tmp_path, "pipe")
    (committed / "a").unlink()
    (committed / "a").mkdir()
    with pytest.raises(UserError, match="copy the whole folder again"):
        save(committed, "newer")


def test_several_writers_may_recover_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between this process's look at the folder and its rename, another one moves the file."""
    (tmp_path / ".committed").mkdir()
    for name in ("a", "b"):
        (tmp_path / ".committed" / name).write_text("new")
    rename = Path.replace

    def late(self: Path, target: Path) -> Path:
        rename(self, target)
        return rename(self, target)  # FileNotFoundError: it has gone

    monkeypatch.setattr(Path, "replace", late)
    files.recover(tmp_path)
    assert contents(tmp_path) == {"a": "new", "b": "new"} and not (tmp_path / ".committed").exists()


@pytest.mark.parametrize(("code", "words"), [(errno.ENOSPC, "intact"), (errno.EROFS, "cannot be written")])
def test_full_or_read_only_disk_is_reported_in_one_line(tmp_path: Path, code: int, words: str) -> None:
    save(tmp_path, "old")
    with pytest.raises(UserError, match=words) as caught, files.atomic_folder(tmp_path) as new:
        (new / "a").write_text("new")
        raise OSError(code, os.strerror(code))
    assert str(tmp_path) in str(caught.value) and "\n" not in str(caught.value)
    assert set(contents(tmp_path).values()) == {"old"}


def test_other_errors_of_the_caller_are_not_disguised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), files.atomic_folder(tmp_path) as new:
        shutil.copy(tmp_path / "no such tokeniser", new)


def test_one_file_that_does_not_fit_leaves_the_old_one(tmp_path: Path) -> None:
    """A real failing write: the system refuses files over 1000 bytes."""
    path = tmp_path / "metrics.json"
    files.write_atomically(path, "old é")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UserError, match="what was there before is intact"):
            files.write_atomically(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(tmp_path) == {"metrics.json": "old é"}
    files.write_atomically(path, b"new")
    assert contents(tmp_path) == {"metrics.json": "new"}
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/../../x", "..\\x", "C:\\x", "C:x", "", ".", "a\0b", "\ud800"]
)
def test_names_stay_inside_their_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    with pytest.raises(UserError, match="not a file inside"):
        files.path_inside(folder, name)
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(UserError, match="link: a symbolic link"):
        files.path_inside(folder, "link/x")
    assert files.path_inside(folder, "sub/spm.model") == folder / "sub" / "spm.model"


def test_paths_are_split_at_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "a,b", "b", "lr=1,seed=1"):
        Path(name).touch()
    assert list(map(str, files.split_paths("a"))) == ["a"]
    assert list(map(str, files.split_paths("a,b"))) == ["a,b"]  # what exists, as it is
    assert list(map(str, files.split_paths("lr=1,seed=1,b,,none"))) == ["lr=1,seed=1", "b", "none"]
    assert files.split_paths("") == [] == files.split_paths(",")
