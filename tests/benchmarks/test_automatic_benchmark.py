"""benchmarks/automatic.py trains with the automatic recipe, scores a test set and records how it was made."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "automatic.py"


@pytest.mark.slow
def test_a_run_is_scored_and_recorded(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"the cat number {n}\tle chat numéro {n}\n" for n in range(300)), encoding="utf-8")
    results = tmp_path / "results.json"
    results.write_text('{"earlier": {}}')
    settings = [f"--set=train.{setting}" for setting in ("max_steps=2", "judge_on=2", "threads=1")]
    command = ["--name", "tiny", "--train", str(pairs), "--test", str(pairs), "--device", "cpu"]
    subprocess.run([sys.executable, PROGRAM, *command, *settings, "--out", results], check=True, capture_output=True)
    found = json.loads(results.read_text())
    assert found.keys() == {"earlier", "tiny"}
    assert found["tiny"]["updates"] == 2 and found["tiny"]["seconds"] > 0 and 0 <= found["tiny"]["bleu"] <= 100
    assert found["tiny"]["recipe"]["train"]["max_steps"] == 2
    assert found["tiny"]["provenance"]["command"].startswith("automatic.py --name tiny")
