"""benchmarks/distributed.py: the estimate by hand, and a short measurement."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "distributed.py"
sys.path.insert(0, str(PROGRAM.parent))
import distributed  # noqa: E402  (benchmarks/ is not a package)


def test_estimate_by_hand() -> None:
    assumed = {
        "vocabulary": 10,
        "bytes_per_gradient": 4,
        "reached_share_of_bandwidth": 0.5,
        "copy_bytes_per_second": 4e9,
        "seconds_per_hop": {"wire": 0.01},
        "seconds_per_hop_of_confirmation": 0.02,
        "networks": {"two": {"gpus": 2, "hop": "wire", "bytes_per_second": 2e9}},
        "models": {"vaswani2017 tiny": {"tokens_per_gpu": 1000, "tokens_per_second": 1e4}},
    }
    (row,) = distributed.estimate(assumed)
    size = row["gradient_bytes"]
    assert size == distributed.count_bytes("vaswani2017", "tiny", assumed) > 1e5
    # 2 (n − 1)/n is 1, and the bandwidth 1e9; there are 2 hops of 0.01 s and 2 of 0.02 s; copies move the size 4 times.
    expected = {"computing": 0.1, "exchanging": size / 1e9 + 0.02, "copying": size / 1e9, "confirming": 0.04}
    assert row["seconds"] == pytest.approx(expected)
    assert row["efficiency"] == pytest.approx(0.1 / (0.16 + 2 * size / 1e9)) and row["limit"] == "confirming"
    assert row["tokens_per_second"] == pytest.approx(2e4 * row["efficiency"])


def test_medians_are_taken_per_kind() -> None:
    values = {"tokens_per_cpu_second": 1.0, "share_of_exchange": 0.5}
    runs = [
        {"processes": n, "pairs": 32, "tokens_per_second": n * speed, **values} for n in (2, 1) for speed in (5, 9, 6)
    ]
    first, second = distributed.summarise(runs)
    assert (first["processes"], first["tokens_per_second"]) == (1, 6)
    assert (second["processes"], second["tokens_per_second"]) == (2, 12)


@pytest.mark.slow
def test_processes_are_measured_and_recorded(tmp_path: Path) -> None:
    command = [sys.executable, PROGRAM, "--updates", "1", "--repeats", "1", "--out", tmp_path / "results.json"]
    subprocess.run(command, check=True, capture_output=True)
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [(row["processes"], row["pairs"]) for row in found["measured"]] == [(1, 32), (2, 32), (2, 64)]
    assert all(row["tokens_per_second"] > 0 for row in found["measured"])
    assert found["measured"][0]["share_of_exchange"] < 0.05
