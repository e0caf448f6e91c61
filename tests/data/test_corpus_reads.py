"""How often a corpus is read from disk before the first update."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saccade.cli import main
from saccade.data import Cleaning, open_pairs
from saccade.text import Policy
from saccade.train.data_options import Data, WeightedCorpus
from saccade.train.dataset import load_dataset

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


CLEANED = ["data.clean.script=0.5", "data.clean.duplicates=true", "data.clean.ratio=3.0"]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, []) for name in ("pairs.tsv", "pairs.jsonl", "pairs.csv", "pairs.json")),
        *((name, ["data.streaming=true"]) for name in ("pairs.tsv", "pairs.jsonl", "pairs.csv", "pairs.json")),
        ("pairs.tsv", ["data.streaming=true", *CLEANED]),
    ],
    ids=lambda part: part if isinstance(part, str) else "streamed" * any("streaming" in text for text in part),
)
def test_training_with_the_automatic_recipe_reads_a_corpus_twice(
    name: str, changes: list[str], tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
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
    settings = ["train.max_steps=0", "train.device=cpu", "train.threads=1", "data.joint=false", *changes]
    options = [part for setting in settings for part in ("--set", setting)]
    monkeypatch.setattr(sys, "argv", ["saccade", "train", name, "--out", "run", "--model", "cho2014", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code and (tmp_path / "run" / "vocabulary").is_dir()
    assert opened.count(name) == 2


def test_corpora_that_are_mixed_are_read_twice(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("new.tsv", "old.tsv"):
        (tmp_path / name).write_text("\n".join(LINES) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = ["--set", "train.max_steps=0", "--set", "train.device=cpu", "--set", "train.threads=1"]
    argv = ["saccade", "train", "new.tsv", "--mix", "old.tsv", "--out", "run", "--model", "cho2014", *options]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code and opened.count("new.tsv") == opened.count("old.tsv") == 2


@pytest.mark.parametrize("several", [False, True])
def test_a_streamed_corpus_is_read_twice_at_first_and_once_when_resumed(
    several: bool, tmp_path: Path, opened: list[str]
) -> None:
    paths = [tmp_path / f"{number}.tsv" for number in range(1 + several)]
    for path in paths:
        path.write_text("\n".join([*LINES[int(path.stem) * 7 :], "same\tsame", LINES[50]]), encoding="utf-8")
    cleaning = Cleaning(script=0.5, duplicates=True, identical=True)
    corpora = tuple(WeightedCorpus(pairs=str(path)) for path in paths)
    data = Data(corpora=corpora, clean=cleaning, streaming=True, vocabulary=Policy(kind="char", size=400))
    first = load_dataset(data, tmp_path / "run", 1)
    assert all(opened.count(path.name) == 2 for path in paths)
    again = load_dataset(data, tmp_path / "run", 1)
    assert all(opened.count(path.name) == 3 for path in paths)  # for the digest
    assert again.digest == first.digest and again.notes == first.notes and again.valid == first.valid
    in_memory = load_dataset(replace(data, streaming=False), tmp_path / "other", 1)
    assert in_memory.digest == first.digest and in_memory.valid == first.valid
    assert in_memory.vocabularies.hash == first.vocabularies.hash
    assert in_memory.notes == [note for note in first.notes if not note.startswith("streamed")]


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
