"""Every error that the user can fix ends in one line and a documented exit code."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running import Run

from saccade import journal as journals
from saccade.errors import UserError
from saccade.journal import open_journal


def start(shell: str, *, interrupted_at: str | None = None) -> subprocess.CompletedProcess[str]:
    """`saccade` as a shell starts it; Ctrl-C may come at the moment when a module is imported."""
    code = "from saccade.cli import main; main()"
    if interrupted_at is not None:
        code = (
            "import sys\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, path, target=None):\n"
            f"        if name == {interrupted_at!r}: raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Interrupting())\n" + code
        )
    environment = {**os.environ, "PROGRAM": code, "PYTHON": sys.executable}
    command = shell.replace("saccade", '"$PYTHON" -c "$PROGRAM"')
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize(
    ("shell", "code", "message"),
    [
        ("saccade --version > /dev/full", 2, "saccade: a write failed: No space left on device\n"),
        ("saccade --version >&-", 2, "saccade: a write failed: Bad file descriptor\n"),
        ("saccade --version <&-", 0, ""),
        ("saccade --version 2>&-", 0, ""),
        ("saccade --nonsense 2>/dev/full", 2, ""),
        ("set -o pipefail; saccade --help | true", 141, ""),
    ],
)
def test_failing_standard_stream_gives_its_exit_code(shell: str, code: int, message: str) -> None:
    done = start(shell)
    assert (done.returncode, done.stderr) == (code, message), done


@pytest.mark.parametrize("module", ["typer", "saccade.cli.commands", "rich"])
def test_ctrl_c_at_start_prints_one_line(module: str) -> None:
    done = start("saccade --help", interrupted_at=module)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "saccade: interrupted\n")


def test_long_message_is_shortened(saccade: Run, tmp_path: Path) -> None:
    name = "n" * 200
    path = Path(*[name] * 8, "pairs.tsv")  # 1,600 characters, no part of which is too long for a file's name
    code, out, err = saccade("data", tmp_path / path)
    assert (code, out) == (2, "") and err.startswith(f"saccade: {tmp_path}") and len(err) < 1_100
    assert "nnn … nnn" in err and err.endswith("either\n") and err.count("\n") == 1


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow larger, as on a disk that is full; the operating system says so with another error number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_full_disk_keeps_the_lines_that_the_message_counts(saccade: Run, tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "out.tsv"
    pairs.write_text("".join(f"a cat {i}\tun chat {i}\n" for i in range(2000)), encoding="utf-8")
    with room_for(20_000):
        code, _, err = saccade("data", pairs, "--out", out)
    done = (tmp_path / "out.tsv.unfinished").read_text(encoding="utf-8")
    assert code == 2 and not out.exists() and done.endswith("\n") and 0 < len(done) <= 20_000
    assert f"{done.count(chr(10)):,} lines finished and saved in" in err
    assert err.splitlines()[-1] == f"saccade: {out}: cannot be written: File too large"


def test_failed_journal_names_the_lines_that_can_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.txt"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match="No space left"), open_journal({"out": out}, {}, restart=False) as journal:
        for line in range(4):
            journal.write("out", f"line {line}")
            if line == 2:
                monkeypatch.setattr(journals, "write_json", full)
            journal.commit(line + 1)
    assert "2 lines finished and saved in" in capsys.readouterr().err
    assert (tmp_path / "out.txt.unfinished").read_text() == "line 0\nline 1\n"
    monkeypatch.undo()
    with open_journal({"out": out}, {}, restart=False) as journal:
        assert journal.lines == 2


def test_closed_pipe_ends_translate_with_141(
    saccade: Run, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.txt").write_text("it sleeps\n")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        code, _, err = saccade("translate", model_folder, tmp_path / "in.txt")
    assert (code, err) == (141, "")


def test_failing_disk_is_reported_in_one_line(saccade: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", "somewhere")

    monkeypatch.setattr("saccade.cli.data.put", fail)
    (tmp_path / "p.tsv").write_text("a\tb\nc\td\n")
    code, out, err = saccade("data", tmp_path / "p.tsv", "--json")
    assert (code, out, err) == (2, "", "saccade: somewhere: Read-only file system\n")
