"""Text from elsewhere cannot control a terminal, and programs read it unchanged."""

import io
import sys
from pathlib import Path

import pytest
from running import Run

from saccade.cli.console import print_table, put, say, show

HOSTILE = "a\x1b]0;owned\x07\x9bb"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_put_writes_data_unchanged_except_to_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(f"{HOSTILE}\tb")
    assert capsys.readouterr().out == f"{HOSTILE}\tb\n"
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    put(f"{HOSTILE}\tb\nc")
    assert terminal.getvalue() == "a\\x1b]0;owned\\x07\\x9bb\tb\nc\n"


def test_messages_and_tables_contain_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    show(HOSTILE)
    print_table([HOSTILE], [[HOSTILE]])
    out, err = capsys.readouterr()
    assert not set("\x1b\x07\x9b") & set(out + err) and err.count("\n") == 1
    assert out.count("\\x1b]0;owned") == 3


def test_hostile_file_name_is_printed_safely_in_one_line(saccade: Run, tmp_path: Path) -> None:
    code, _, err = saccade("data", tmp_path / "a\x1b[2J\n\u202eb.tsv")
    assert code == 2 and err.count("\n") == 1 and "a\\x1b[2J\\n\\u202eb.tsv: no such file" in err
    field = tmp_path / "p.jsonl"
    field.write_text('{"sour\\u001bce": "a"}\n', encoding="utf-8")
    code, _, err = saccade("data", field)
    assert code == 2 and "sour" in err and "\x1b" not in err
