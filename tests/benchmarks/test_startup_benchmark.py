"""benchmarks/startup.py measures a command up to its first update, and leaves nothing behind."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import startup


@pytest.mark.slow
def test_the_first_update_comes_after_import_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "startup.json"
    options = ["--count", "60", "--device", "cpu", "--repeats", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["startup.py", *options])
    startup.main()
    result = json.loads(out.read_text())
    assert result["pairs"] == 60 and result["first_update_beyond_import_torch"] > 0
    assert list(result["median_seconds"]) == ["python", "import torch", "saccade --help", "first update"]
    assert [*tmp_path.iterdir()] == [out]
