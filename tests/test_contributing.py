"""CONTRIBUTING.md adds an attention in three edits: made here in a copy of the package, and put before the laws."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def edits() -> tuple[str, str, str]:
    """The python blocks of the section: a class, the table's lines, a test."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Add an attention in three edits")[1].split("\n## ")[0]
    one, two, three = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return one, two, three


def copy_with(edits: tuple[str, str, str], name: str, into: Path) -> None:
    part, lines, test = edits
    shutil.copytree(ROOT / "saccade", into / "saccade", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "attention", into / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", into)

    scores = into / "saccade" / "attention" / "scores.py"
    scores.write_text(f"{scores.read_text(encoding='utf-8')}\n\n{part}", encoding="utf-8")

    table = into / "saccade" / "attention" / "table.py"
    imported, entry = lines.split("\n\n")
    before, head, rest = table.read_text(encoding="utf-8").partition("\nATTENTIONS:")
    inside, end, after = rest.partition("\n}\n")
    assert head and end, "the table of saccade/attention/table.py is not where this test looks for it"
    last_import = before.rindex("\nfrom saccade.attention") + 1
    before = f"{before[:last_import]}{imported}\n{before[last_import:]}"
    table.write_text(f"{before}{head}{inside}\n{entry.rstrip()}{end}{after}", encoding="utf-8")

    (into / "tests" / f"test_{name}.py").write_text(test, encoding="utf-8")


@pytest.mark.slow
def test_three_edits_add_an_attention_that_keeps_the_laws(tmp_path: Path) -> None:
    one, two, three = edits()
    (name,) = re.findall(r'^    "([\w-]+)":', two, re.MULTILINE)
    copy_with((one, two, three), name, tmp_path)

    def python(*arguments: str) -> str:
        # The copy stands before the installed package on the path.
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert name in python("-m", "saccade", "attentions")
    selected = ["-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-rA", "-k", name, "tests"]
    report = python(*selected)
    passed = set(re.findall(rf"^PASSED (\S*{name}\S*)", report, re.MULTILINE))
    by_hand = {test for test in passed if test.startswith(f"tests/test_{name}.py")}
    laws = {test for test in passed if test.startswith("tests/test_laws.py")}
    assert len(by_hand) == len(re.findall(r"^def test_", three, re.MULTILINE))
    assert len(laws) >= 12, report
