"""The edits of CONTRIBUTING.md, made in a copy of the project: each new part keeps the laws, runs and is documented."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TRAIN = ["--set", "train.max_steps=2", "--set", "train.device=cpu", "--set", "data.count=60", "--out", "run"]


def read_edits(kind: str) -> dict[Path, str]:
    """The code of a section by file, which the first line of each block names."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {kind}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    return {Path(path): code for path, code in blocks}


def copy_project(place: Path, folder: str) -> None:
    """The package, the documents with their data, and the tests of one folder."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("saccade", "docs", "benchmarks", f"tests/{folder}"):
        shutil.copytree(ROOT / name, place / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "README.zh-CN.md", "tests/conftest.py"):
        shutil.copy(ROOT / name, place / name)


def make_edit(path: Path, code: str) -> None:
    """Write a new file, add an entry and its import to a table, or append a class."""
    if not path.exists():
        path.write_text(code, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    if re.search(r'^    "[\w-]+":', code, re.MULTILINE):
        imports, entry = code.split("\n\n")
        table = re.search(r"^[A-Z]+: .* = .*\{\n", text, re.MULTILINE)
        assert table is not None, f"{path} has no table"
        end = text.index("\n}\n", table.end()) + 1
        first = text.index("\nfrom saccade.") + 1
        text = f"{text[:first]}{imports}\n{text[first:end]}{entry.rstrip()}\n{text[end:]}"
    else:
        text += f"\n\n{code}"
    path.write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "listing", "laws", "page", "training"),
    [
        ("Add an attention", "attentions", "tests/attention/test_laws.py", "docs/attention.md", []),
        (
            "Add a model",
            "models",
            "tests/models/test_model_laws.py",
            "docs/models.md",
            ["task:reverse", "--model", "{name}", "--set", "model.preset=tiny", *TRAIN],
        ),
        ("Add a task", "tasks", "tests/tasks/test_task_laws.py", "docs/tasks.md", ["task:{name}", *TRAIN]),
    ],
)
def test_three_edits_add_a_part(
    kind: str, listing: str, laws: str, page: str, training: list[str], tmp_path: Path
) -> None:
    edits = read_edits(kind)
    (name,) = re.findall(r'^    "([\w-]+)":', "".join(edits.values()), re.MULTILINE)
    copy_project(tmp_path, Path(laws).parent.name)
    for path, code in edits.items():
        make_edit(tmp_path / path, code)

    def run(*arguments: str) -> str:
        # The copy comes before the installed package on the path.
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert name in run("-m", "saccade", listing)
    if training:
        run("-m", "saccade", "train", *(argument.format(name=name) for argument in training))
    by_hand = next(str(path) for path in edits if path.parts[0] == "tests")
    report = run(
        *("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-rA", "-m", "not gpu and not long"),
        *("-k", name, laws),
    )
    assert len(re.findall(rf"^PASSED {re.escape(laws)}::\S*\[.*{name}", report, re.MULTILINE)) >= 8, report
    run("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", by_hand)

    run("docs/tables.py")
    assert f"`{name}`" in (tmp_path / page).read_text(encoding="utf-8")
    if kind == "Add a model":
        assert "## Presets and settings" in (tmp_path / f"docs/models/{name}.md").read_text(encoding="utf-8")
    if kind == "Add an attention":
        assert "`Distance`" in (tmp_path / page).read_text(encoding="utf-8")
