import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "alignment.py"


@pytest.mark.slow
def test_a_tiny_run_scores_every_aligner(tmp_path: Path) -> None:
    out = tmp_path / "alignment.json"
    subprocess.run([sys.executable, PROGRAM, "--tiny", "--out", out], check=True, capture_output=True)
    (corpus,) = json.loads(out.read_text(encoding="utf-8"))["corpora"]
    rows = {row["aligner"]: row for row in corpus["rows"]}
    assert corpus["pairs"] == 220 and {"ibm1", "ibm2", "hmm"} <= rows.keys()
    errors = {name: row["scores"]["grow-diag-final"]["aer"] for name, row in rows.items()}
    assert max(errors["ibm2"], errors["hmm"]) < errors["ibm1"] < corpus["baselines"]["diagonal"]
