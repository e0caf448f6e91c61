"""The program as a user starts it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def saccade(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """saccade("score", folder, file) → exit code, standard output, standard error; never a traceback"""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["saccade", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return int(ended.value.code or 0), out, err

    return run
