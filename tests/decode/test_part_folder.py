"""The finished parts of an output: only the same command with the same lines continues."""

import io
from pathlib import Path
from typing import Any

import pytest

from saccade.data.parts import InputPart, cut_lines
from saccade.data.storage import StoredFile
from saccade.decode.cluster.part_folder import RECORD, PartFolder, join_parts
from saccade.errors import UserError

COMMAND = {"model": "m (0123)", "--beam": 5, "--include": ["a"]}


@pytest.fixture
def folder(tmp_path: Path) -> StoredFile:
    return StoredFile(str(tmp_path / "out.txt.parts"))


def opened(folder: StoredFile, **changes: Any) -> PartFolder:
    return PartFolder(folder=folder, suffix=".txt", command={**COMMAND, **changes})


def cut(content: bytes) -> list[InputPart]:
    return list(cut_lines(io.BytesIO(content), "in.txt", 1))


def test_finished_parts_are_not_left(folder: StoredFile, capsys: pytest.CaptureFixture[str]) -> None:
    output, parts = opened(folder), cut(b"a\nb\nc\n")
    assert output.begin(parts, restart=False) == parts
    output.file(parts[1]).write(b"B\n")
    assert output.begin(parts, restart=False) == [parts[0], parts[2]]
    assert "continuing: 1 of 3 parts finished" in capsys.readouterr().err


def test_another_command_is_refused_until_restart(folder: StoredFile) -> None:
    output, parts = opened(folder), cut(b"a\nb\n")
    output.begin(parts, restart=False)
    output.file(parts[0]).write(b"A\n")
    other = opened(folder, **{"--beam": 3})
    with pytest.raises(UserError, match=r"made by another command: --beam was 5, is 3; .* give --restart"):
        other.begin(parts, restart=False)
    assert output.begin(parts, restart=False) == parts[1:]
    assert other.begin(parts, restart=True) == parts
    assert folder.names() == {RECORD}


@pytest.mark.parametrize("changed", [b"x\nb\nc\n", b"b\nc\n", b""], ids=["a line", "its place", "nothing left"])
def test_changed_lines_of_a_finished_part_are_refused(folder: StoredFile, changed: bytes) -> None:
    output, parts = opened(folder), cut(b"a\nb\nc\n")
    output.begin(parts, restart=False)
    output.file(parts[0]).write(b"A\n")
    with pytest.raises(
        UserError, match=r"part-000000-.* was made from other lines: the input has changed; .*--restart"
    ):
        output.begin(cut(changed), restart=False)
    corrected = cut(b"a\nb, corrected\nc\nd\n")  # unfinished parts may change: a mistake in them can be mended
    assert output.begin(corrected, restart=False) == corrected[1:]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\x00", b'"text"', b"[" * 100_000])
def test_a_damaged_record_is_refused_until_restart(folder: StoredFile, content: bytes) -> None:
    output, parts = opened(folder), cut(b"a\n")
    output.begin(parts, restart=False)
    folder.child(RECORD).write(content)
    with pytest.raises(UserError, match="damaged, so that nothing can be continued; give --restart"):
        output.begin(parts, restart=False)
    assert output.begin(parts, restart=True) == parts


def test_files_of_others_are_neither_used_nor_removed(folder: StoredFile) -> None:
    folder.child("mine.txt").write(b"mine")
    output, parts = opened(folder), cut(b"a\n")
    with pytest.raises(UserError, match="no record of the command that made them; choose another place"):
        output.begin(parts, restart=True)
    assert folder.child("mine.txt").read() == b"mine"


def test_a_late_worker_of_another_command_writes_elsewhere(folder: StoredFile) -> None:
    (part,) = cut(b"a\n")
    assert opened(folder).name(part) != opened(folder, **{"--beam": 3}).name(part)


def test_parts_are_joined_in_order(folder: StoredFile, tmp_path: Path) -> None:
    output, parts = opened(folder), cut("\n".join("abcdefghijkl").encode())
    output.begin(parts, restart=False)
    for number in (3, 11, 0, 1, 2, 10, *range(4, 10)):
        output.file(parts[number]).write(f"{number}\n".encode())
    for left in ("._command.json-01234567", f".{output.name(parts[0])}-01234567"):  # by killed workers
        folder.child(left).write(b"")
    join_parts([output.file(part) for part in parts], StoredFile(str(tmp_path / "out.txt")))
    output.remove()
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").split() == [str(number) for number in range(12)]
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
