"""A task's pairs on disk: whole, or drawn again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from saccade.data import TextPair, cached
from saccade.data.drawn import Drawn

PAIRS = [TextPair(f"source {i}", f"target {i}") for i in range(100)]


def opened(folder: Path, draws: list[int]) -> list[TextPair]:
    def draw() -> Iterator[TextPair]:
        draws.append(1)
        return iter(PAIRS)

    drawn = Drawn(draw=draw)
    return [*cached(folder, "pairs", lambda: drawn, drawn.load).open(reverse=False)]


def test_pairs_are_drawn_once(tmp_path: Path) -> None:
    draws: list[int] = []
    assert opened(tmp_path, draws) == PAIRS == opened(tmp_path, draws)
    assert len(draws) == 1 and [path.name for path in tmp_path.iterdir()] == ["pairs"]


@pytest.mark.parametrize("size", [0, 700, 1234, 2000])
def test_a_file_that_was_cut_short_is_drawn_again(size: int, tmp_path: Path) -> None:
    opened(tmp_path, [])
    os.truncate(tmp_path / "pairs" / "pairs.tsv", size)
    draws: list[int] = []
    assert opened(tmp_path, draws) == PAIRS and len(draws) == 1
    assert opened(tmp_path, draws) == PAIRS and len(draws) == 1


def test_pairs_that_cannot_be_kept_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert opened(tmp_path / "file", []) == PAIRS


def test_what_is_kept_is_on_disk_before_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(number: int) -> None:
        done.append(Path(f"/proc/self/fd/{number}").readlink().name)
        sync(number)

    def renamed(path: Path, to: Path) -> Path:
        done.append("renamed")
        return rename(path, to)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    opened(tmp_path, [])
    assert {"pairs.tsv", "about.json"} <= {*done[: done.index("renamed")]}
