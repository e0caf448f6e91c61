"""benchmarks/sampling.py times three ways of training on the same pairs, and records how it was made."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "sampling.py"


@pytest.mark.slow
def test_three_ways_are_timed_and_recorded(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = ["--count", "300", "--rounds", "1", "--kinds", "bpe", "--pieces", "400", "--device", "cpu"]
    settings = ["--set", "model.preset=tiny", "--set", "train.threads=1", "--set", "data.words=[3,6]"]
    subprocess.run([sys.executable, PROGRAM, *command, *settings, "--out", results], check=True, capture_output=True)
    found = json.loads(results.read_text())
    assert [row["way"] for row in found["rows"]] == [
        "no sampling",
        "sampling, cut when needed",
        "sampling, cut ahead",
    ]
    assert all(row["tokens"] > 300 and row["tokens_per_second"] > 0 for row in found["rows"])
    assert [row["processes"] for row in found["rows"][:2]] == [0, 0]
    assert set(found["medians"]["bpe"]) == {row["way"] for row in found["rows"]}
    assert found["provenance"]["command"].startswith("sampling.py --count 300")
