"""A loading script that comes with a data set from the hub is never run."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saccade.data import open_pairs


@pytest.mark.parametrize("name", ["somebody/some-pairs", "a folder", "a file.jsonl"])
def test_a_loading_script_is_not_trusted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []

    class Rows(list[Any]):
        def skip(self, count: int) -> list[Any]:
            return self[count:]

    def load_dataset(*_: Any, **options: Any) -> Rows:
        calls.append(options)
        return Rows([{"source": "a", "target": "b"}])

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.chdir(tmp_path)
    Path("a folder").mkdir()
    Path("a file.jsonl").touch()
    assert [pair.target for pair in open_pairs(f"hf:{name}")] == ["b"]
    assert [options["trust_remote_code"] for options in calls] == [False]
