import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "shortlist.py"


@pytest.mark.slow
def test_a_tiny_run_measures_both_searches(tmp_path: Path) -> None:
    out = tmp_path / "shortlist.json"
    command = [sys.executable, PROGRAM, "--tiny", "--rounds", "1", "--frequent", "10", "--own", "2", "--out", out]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [row["name"] for row in rows] == ["base", "rnn"] and shown.count("times as fast") == 2
    assert all(0 < row["candidates"] < row["vocabulary"] and row["speedup"] > 0 for row in rows)
