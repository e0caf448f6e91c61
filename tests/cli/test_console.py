"""Text from elsewhere commands no terminal, and stays exactly as it is where programs read it."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from saccade.cli.console import print_table, put, say, show

Run = Callable[..., tuple[int, str, str]]
HOSTILE = "a\x1b]0;owned\x07\x9bb"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_data_are_exact_but_for_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{HOSTILE}\tb")
    assert capsys.readouterr().out == f"{HOSTILE}\tb\n"
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    put(f"{HOSTILE}\tb\nc")
    assert terminal.getvalue() == "a\\x1b]0;owned\\x07\\x9bb\tb\nc\n"


def test_what_is_for_people_is_safe_wherever_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    show(HOSTILE)
    print_table([HOSTILE], [[HOSTILE]])
    out, err = capsys.readouterr()
    assert not set("\x1b\x07\x9b") & set(out + err) and err.count("\n") == 1
    assert out.count("\\x1b]0;owned") == 3


def test_a_mistake_is_one_safe_line_whatever_is_in_a_file_or_its_name(saccade: Run, tmp_path: Path) -> None:
    code, _, said = saccade("data", tmp_path / "a\x1b[2J\n\u202eb.tsv")
    assert code == 2 and said.count("\n") == 1 and "a\\x1b[2J\\n\\u202eb.tsv: no such file" in said
    field = tmp_path / "p.jsonl"
    field.write_text('{"sour\\u001bce": "a"}\n', encoding="utf-8")
    code, _, said = saccade("data", field)
    assert code == 2 and "sour" in said and "\x1b" not in said
