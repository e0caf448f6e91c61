"""`--trust-code`, which every command that loads a model folder has."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import typer
from running import Run

from saccade.cli.commands import app

LOADING = ["train", "sweep", "translate", "score", "rerank", "calibrate", "align", "evaluate", "compare"]

OWN_MODEL = """
from pathlib import Path
from saccade.models.vaswani2017 import Vaswani2017
Path("ran").touch()
class Mine(Vaswani2017): pass
"""


def test_commands_that_load_models_have_trust_code() -> None:
    commands = typer.main.get_group(app).commands
    assert [name for name in LOADING if "--trust-code" not in {o for p in commands[name].params for o in p.opts}] == []


def test_folder_that_names_code_is_refused_in_one_line(
    saccade: Run, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(model_folder, tmp_path / "model"))
    described = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    described["model"] = "model_of_mine:Mine"
    (folder / "config.json").write_text(json.dumps(described), encoding="utf-8")
    (tmp_path / "in.txt").write_text("the cat sleeps\n", encoding="utf-8")
    (tmp_path / "in.tsv").write_text("the cat sleeps\tle chat dort\n", encoding="utf-8")
    (tmp_path / "model_of_mine.py").write_text(OWN_MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for command in (
        ("translate", folder, "in.txt"),
        ("score", folder, "in.tsv"),
        ("compare", folder, folder, "--on", "in.tsv"),
        ("train", "in.tsv", "--init-from", folder, "--out", "new"),
    ):
        code, out, err = saccade(*command)
        assert code == 2 and not out and err.count("\n") == 1 and "give --trust-code" in err, err
    assert not (tmp_path / "ran").exists() and not (tmp_path / "new").exists()
    code, out, err = saccade("translate", folder, "in.txt", "--trust-code", "--device", "cpu")
    assert code == 0 and out == "le chat dort\n" and (tmp_path / "ran").exists(), err
