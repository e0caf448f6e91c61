import json
import sys
from pathlib import Path

import pytest

from benchmarks import padding


def test_planned_shapes_are_compared_with_sorted_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("en", "fr"):
        (tmp_path / side).write_text("".join(f"{'word ' * (1 + n % 13)}{n}\n" for n in range(300)))
    out = tmp_path / "padding.json"
    corpus = f"tiny={tmp_path / 'en'},{tmp_path / 'fr'}"
    monkeypatch.setattr(sys, "argv", ["padding.py", corpus, "--tokens", "200", "--out", str(out)])
    padding.main()
    results = json.loads(out.read_text())["results"]
    assert [(entry["tokens"], entry["auto"]) for entry in results] == [(200, False), (512, True)]
    for entry in results:
        assert entry["pairs"] == 285
        assert 0 <= entry["planned"]["padding"] < 0.1 and entry["planned"]["shapes"] <= entry["planned"]["batches"]
