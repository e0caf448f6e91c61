"""Files by path or URL: whole or not at all, with one line about whatever the storage refuses."""

import os
from pathlib import Path
from uuid import uuid4

import pytest

from saccade.data.storage import StoredFile
from saccade.errors import UserError


@pytest.fixture(params=["path", "file", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> StoredFile:
    urls = {"path": str(tmp_path / "new"), "file": f"file://{tmp_path}/new", "memory": f"memory://{uuid4().hex}"}
    return StoredFile(urls[request.param])


def test_a_file_is_written_listed_read_and_removed(folder: StoredFile) -> None:
    assert folder.names() == set()
    file = folder.child("a.txt")
    assert not file.exists()
    file.write(b"first")
    assert file.exists()
    file.write(b"second")
    assert folder.names() == {"a.txt"} and file.read() == b"second" and file.read(1, 3) == b"ec"
    with file.open() as stream:
        assert stream.readline() == b"second"
    file.remove()
    assert folder.names() == set()
    folder.child("b.txt").write(b"b")
    folder.remove()
    assert folder.names() == set()


def test_a_created_file_exists_only_when_complete(folder: StoredFile) -> None:
    folder.child("other").write(b"")
    with pytest.raises(KeyboardInterrupt), folder.child("a.txt").create() as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert folder.names() == {"other"}
    with folder.child("a.txt").create() as stream:
        stream.write(b"one ")
        assert "a.txt" not in folder.names()
        stream.write(b"two")
    assert folder.child("a.txt").read() == b"one two" and folder.names() == {"a.txt", "other"}


def test_a_missing_file_is_one_line(folder: StoredFile) -> None:
    with pytest.raises(UserError, match=r"a\.txt: no such file"), folder.child("a.txt").open():
        pass


@pytest.mark.parametrize(
    ("url", "message"), [("zzz://a/b", "Protocol not known: zzz"), ("https+x://a", "expected a p")]
)
def test_unknown_storage_is_one_line(url: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        StoredFile(url).read()


def test_paths_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert StoredFile("a/b.txt").absolute == StoredFile(f"{tmp_path}/a/b.txt")
    assert StoredFile("out/").absolute == StoredFile(f"{tmp_path}/out/")
    assert StoredFile(f"file://{tmp_path}/a").absolute == StoredFile(f"{tmp_path}/a")
    assert StoredFile("memory://a/b").absolute == StoredFile("memory://a/b")
    assert StoredFile("out/").absolute.is_folder() and StoredFile(str(tmp_path)).is_folder()
    assert not StoredFile("memory://a/b").is_folder()


def test_an_unwritable_place_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written"):
        StoredFile(str(tmp_path / "a file" / "b.txt")).write(b"")
    assert os.listdir(tmp_path) == ["a file"]  # noqa: PTH208
