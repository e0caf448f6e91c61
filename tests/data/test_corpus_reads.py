"""How often a corpus is read from disk before the first update."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from saccade.cli import main
from saccade.data import open_pairs

LINES = [f"the {n} dog{'s' * (n % 3)}\tle {n} chien{'s' * (n % 3)}" for n in range(200)]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all files that were opened for reading bytes."""
    names: list[str] = []
    path_open = Path.open

    def recording(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if mode == "rb":
            names.append(path.name)
        return path_open(path, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", recording)
    return names


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.jsonl", "pairs.csv", "pairs.json"])
def test_training_with_the_automatic_recipe_reads_a_corpus_twice(
    name: str, tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [dict(zip(("source", "target"), line.split("\t"), strict=True)) for line in LINES]
    text = {
        "pairs.tsv": "\n".join(LINES),
        "pairs.jsonl": "\n".join(map(json.dumps, rows)),
        "pairs.csv": "source,target\n" + "\n".join(line.replace("\t", ",") for line in LINES),
        "pairs.json": json.dumps(rows),
    }[name]
    (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    settings = ["train.max_steps=0", "train.device=cpu", "train.threads=1", "data.joint=false"]
    options = [part for setting in settings for part in ("--set", setting)]
    monkeypatch.setattr(sys, "argv", ["saccade", "train", name, "--out", "run", "--model", "cho2014", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code and (tmp_path / "run" / "vocabulary").is_dir()
    assert opened.count(name) == 2


def test_pairs_in_memory_are_read_once_and_are_the_same(tmp_path: Path, opened: list[str]) -> None:
    (tmp_path / "pairs.tsv").write_text("\n".join(LINES), encoding="utf-8")
    on_disk = open_pairs(str(tmp_path / "pairs.tsv"), reverse=True)
    in_memory = on_disk.in_memory()
    assert opened == ["pairs.tsv"]
    marked = [*in_memory.marked()]
    assert [*in_memory.marked(marked[7][0])] == marked[7:] and in_memory.digest() and in_memory.size()
    assert opened == ["pairs.tsv"]
    assert marked == [*on_disk.marked()] and str(in_memory) == str(on_disk)
    assert (in_memory.digest(), in_memory.size()) == (on_disk.digest(), on_disk.size())
