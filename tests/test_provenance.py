import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import saccade.provenance
from saccade.provenance import provenance, recording_call


def git(folder: Path, *arguments: str) -> str:
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    command = ["git", "-C", str(folder), "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", *arguments]
    return subprocess.run(command, env=os.environ | identity, capture_output=True, text=True, check=True).stdout.strip()


def test_provenance_is_complete_and_fits_json() -> None:
    found = json.loads(json.dumps(provenance(seed=7, command="saccade try")))
    assert (found["seed"], found["command"]) == (7, "saccade try")
    assert found["versions"]["python"] == platform.python_version()
    assert {"saccade", "torch", "sacrebleu"} <= found["versions"].keys()
    assert found["machine"]["cpu"]
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory_gib"] > 0
    assert found["date"].endswith("+00:00")


def test_command_is_by_default_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/saccade", "train", "my pairs.tsv"])
    assert provenance()["command"] == "saccade train 'my pairs.tsv'"
    monkeypatch.setattr(sys, "argv", ["/somewhere/saccade/__main__.py", "try"])  # python -m saccade try
    assert provenance()["command"] == "saccade try"


def test_call_from_python_records_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/ipykernel_launcher.py", "-f", "kernel.json"])

    @recording_call
    def evaluate(*systems: object, **options: object) -> str:
        return str(provenance()["command"])

    assert evaluate(Path("my model"), beam=2) == "saccade.evaluate('my model', beam=2)"
    assert len(evaluate([("a", "b")] * 1000)) < 200
    outer = recording_call(lambda: evaluate("inner"))
    outer.__wrapped__.__name__ = "compare"  # type: ignore[attr-defined]
    assert outer() == "saccade.compare()"


def test_provenance_imports_no_torch() -> None:
    code = "import sys, saccade.provenance as p; p.provenance(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_commit_is_marked_dirty_when_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACCADE_COMMIT", raising=False)
    monkeypatch.setattr(saccade.provenance, "_CHECKOUT", tmp_path)
    assert provenance()["commit"] is None
    monkeypatch.setenv("SACCADE_COMMIT", "abc")
    assert provenance()["commit"] == "abc"  # a copy that was told
    monkeypatch.delenv("SACCADE_COMMIT")
    git(tmp_path, "init", "--quiet")
    assert provenance()["commit"] is None
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message=one")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert provenance()["commit"] == commit
    (tmp_path / "file").write_text("two")
    assert provenance()["commit"] == f"{commit}-dirty"
    inner = tmp_path / "site-packages"
    inner.mkdir()
    monkeypatch.setattr(saccade.provenance, "_CHECKOUT", inner)
    assert provenance()["commit"] is None
