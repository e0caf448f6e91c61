"""docs/speed.md shows what was measured, and what was not."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import speeds  # noqa: E402  (docs/ is no package: its scripts are found by path)

PROVENANCE: dict[str, Any] = {
    "date": "2030-01-02T03:04:05",
    "command": "speed.py cpu-training",
    "commit": "0123456789abcdef",
    "machine": {"cpu": "a CPU", "gpu": None},
    "versions": {"torch": "9.9"},
}


def entry(name: str, median: float, *, peer: bool) -> dict[str, Any]:
    versions = {"peer": "1.2", "torch": "9.9"} if peer else {}
    shares = {"share_of_matmul": median / 1000, "share_of_copy": None}
    return {"name": name, "peer": peer, "versions": versions, "median": median, **shares}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(speeds, "RESULTS", tmp_path)
    return tmp_path


def write(path: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    result = {
        "rows": [{"row": name, "unit": "tokens", "contestants": entries} for name, entries in rows.items()],
        "floors": {"float32": {"matmul_flops": 1e11, "copy_bytes": 1e10}},
        "options": {"rounds": 3},
        "provenance": PROVENANCE,
    }
    path.write_text(json.dumps(result), encoding="utf-8")


def line(table: str, label: str) -> list[str]:
    (found,) = (line for line in table.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip() for cell in found.split("|")[1:-1]]


def test_what_is_missing_is_not_measured(results: Path) -> None:
    for table in (speeds.gpu_targets(), speeds.cpu_targets()):
        assert all("not measured" in row for row in table.splitlines()[2:])
    others = [*map(speeds.contestants, speeds.TABLES), *map(speeds.growth, ("cpu", "cuda")), speeds.profiles()]
    assert all("yet: `python benchmarks/" in text for text in others)


def test_a_target_is_relative_to_a_peer_of_the_same_run(results: Path) -> None:
    naive, fast = entry("naive PyTorch loop", 100, peer=True), entry("OpenNMT-py", 110, peer=True)
    ours = entry("Saccade", 130, peer=False)
    label = "training, bi-GRU 256, decoder 512"
    write(results / "speed-cpu-training.json", {"rnn": [ours, naive, fast]})
    assert line(speeds.cpu_targets(), label)[2:] == [
        "130",
        "OpenNMT-py 110",
        "≥ 1.25 × naive PyTorch loop",
        "yes",
        "13.0%",
    ]
    write(results / "speed-cpu-training.json", {"rnn": [ours | {"median": 124}, naive]})
    assert line(speeds.cpu_targets(), label)[5] == "no"
    del naive["median"]
    write(results / "speed-cpu-training.json", {"rnn": [ours, naive | {"skipped": "not installed"}]})
    assert line(speeds.cpu_targets(), label)[5] == "–"


def test_the_fastest_batch_counts(results: Path) -> None:
    rows = {"base-float32-64": 100.0, "base-float16-256": 9000.0, "bahdanau2014-float32-64": 200.0}
    write(results / "speed-gpu-decoding.json", {k: [entry("Saccade", v, peer=False)] for k, v in rows.items()})
    cells = line(speeds.gpu_targets(), "beam 5, Transformer base, 30 tokens")
    assert cells[2] == "9,000 (float16-256)" and cells[5] == "yes"
    assert line(speeds.gpu_targets(), "beam 5, `bahdanau2014` base")[5] == "no"


def test_every_contestant_is_listed_with_its_version(results: Path) -> None:
    skipped = {"name": "JoeyNMT", "peer": True, "versions": {}, "skipped": "not installed"}
    entries = [entry("Saccade", 200, peer=False), entry("peer", 50, peer=True), skipped]
    write(results / "speed-cpu-training.json", {"rnn": entries})
    text = speeds.contestants("cpu-training")
    assert "| rnn | peer | 50 | 0.25 | 5.0% | – |" in text
    assert "not measured: not installed" in text and "torch 9.9, peer 1.2" in text and "0.1 TFLOP/s" in text


def test_growth_and_profiles_are_shown(results: Path) -> None:
    cells = [
        {"model": "m", "phase": "training", "quantity": "length", "value": n, "unit": "tokens", "median": 1000.0 / n}
        for n in (10, 1000)
    ]
    (results / "speed-growth-cpu.json").write_text(json.dumps({"cells": cells}))
    assert "10: 100 · 1,000: 1" in speeds.growth("cpu")
    top = [{"name": "aten::mm", "share": 0.5, "per_step": 3.0}]
    profile = {"table": "gpu-training", "row": "base", "plain": False, "idle_share": 0.25, "top": top}
    profile |= {"milliseconds_per_step": 1.5, "launches_per_step": 1000.0}
    (results / "profile-base.json").write_text(json.dumps(profile))
    assert "| gpu-training: base | fast | 1.50 | 1,000 | 25% | 50% `aten::mm` |" in speeds.profiles()
