"""The program as a user starts it."""

import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from running import Done, Run

from saccade.cli import main
from saccade.data import TextPair


@pytest.fixture
def saccade(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """saccade("score", folder, file) → exit code, standard output, standard error; never a traceback"""

    def run(*arguments: str | Path, stdin: bytes | None = None) -> Done:
        monkeypatch.setattr(sys, "argv", ["saccade", *map(str, arguments)])
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Done(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def run(saccade: Run) -> Run:
    """The same, with an empty standard input by default"""
    return partial(saccade, stdin=b"")


@pytest.fixture
def train(saccade: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """`saccade train` in `tmp_path`"""
    monkeypatch.chdir(tmp_path)
    return partial(saccade, "train", stdin=b"")


@pytest.fixture
def tsv(pairs: list[TextPair]) -> bytes:
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs).encode()


@pytest.fixture
def refused(train: Run, tmp_path: Path) -> Callable[..., None]:
    """Train, and expect one line with `message` after the automatic choices, exit code 2, and an unchanged folder"""

    def refused(*arguments: str | Path, message: str, stdin: bytes = b"") -> None:
        before = contents(tmp_path)
        done = train(*arguments, stdin=stdin)
        *_, last = done.err.splitlines()
        assert done.code == 2 and done.out == "", done
        assert last.startswith("saccade: ") and message in last, done.err
        assert done.err.count("saccade: ") == 1
        assert contents(tmp_path) == before

    return refused


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
