import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from saccade.data import Corpus, ListedPairs, PairFiles, Selection, TextPair, cache_folder, cache_key, load_or_build
from saccade.data.cache import FORMAT, TaskPairs
from saccade.text import Policy, Vocabularies

TEXTS = [TextPair(f"the dog number {n} sleeps", f"le chien numéro {n} dort") for n in range(20)]
VOCABULARIES = Vocabularies.train(TEXTS, Policy(kind="word", size=300))


class Builder:
    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> Corpus:
        self.built += 1
        return Corpus.encode(Selection.of(ListedPairs(TEXTS)), VOCABULARIES)


def cached(folder: Path, name: str, build: Builder) -> Corpus:
    return load_or_build(folder, name, build, Corpus.load)


def same(one: Corpus, other: Corpus) -> bool:
    return bool((one.source.ids == other.source.ids).all() and (one.target.ids == other.target.ids).all())


def test_built_once_then_loaded(tmp_path: Path) -> None:
    build, folder = Builder(), tmp_path / "made" / "when needed"
    first = cached(folder, "key", build)
    second = cached(folder, "key", build)
    assert build.built == 1
    assert same(first, second) and first.report == second.report
    assert [file.name for file in folder.iterdir()] == ["key"]
    cached(folder, "another", build)
    assert build.built == 2


def test_a_damaged_one_is_made_again_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    build = Builder()
    cached(tmp_path, "key", build)
    file = tmp_path / "key" / "source_ids.npy"
    file.write_bytes(file.read_bytes()[:-4])
    assert same(cached(tmp_path, "key", build), build())
    assert "made again" in caplog.text
    before = build.built
    cached(tmp_path, "key", build)
    assert build.built == before


def test_killed_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def half(self: Corpus, folder: Path) -> None:
        (folder / "source_ids.npy").write_bytes(b"half")
        raise Killed

    build = Builder()
    leftover = tmp_path / "key" / ".writing-abc"  # as SIGKILL leaves one: nothing cleans up after it
    leftover.mkdir(parents=True)
    (leftover / "source_ids.npy").write_bytes(b"half")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Corpus, "save", half)
        cached(tmp_path, "key", build)
    assert not [*(tmp_path / "key").iterdir()]
    cached(tmp_path, "key", build)
    assert not [*(tmp_path / "key").glob(".*")]


def test_a_place_that_cannot_be_written_is_no_hindrance(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert len(cached(tmp_path / "file", "key", Builder())) == 20
    assert "stay in memory" in caplog.text


def test_the_key_follows_everything_that_shaped_the_corpus(tmp_path: Path) -> None:
    files = PairFiles(tmp_path / "pairs.tsv")
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    before = cache_key(files.digest(), VOCABULARIES.hash, 256)
    assert (
        before == cache_key(files.digest(), VOCABULARIES.hash, 256) != cache_key(files.digest(), VOCABULARIES.hash, 99)
    )
    (tmp_path / "pairs.tsv").write_text("a\tc\n")
    assert cache_key(files.digest(), VOCABULARIES.hash, 256) != before


def test_another_format_of_the_files_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a newer version would read arrays that an older one has laid out otherwise."""
    before = cache_key("digest", 256)
    monkeypatch.setattr("saccade.data.cache.FORMAT", FORMAT + 1)
    assert cache_key("digest", 256) != before


def test_where_it_is_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "saccade"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "saccade"


DRAWN = [TextPair(f"source {i}", f"target {i}") for i in range(100)]


def open_task(folder: Path, draws: list[int]) -> list[TextPair]:
    def draw() -> Iterator[TextPair]:
        draws.append(1)
        return iter(DRAWN)

    drawn = TaskPairs(draw=draw)
    return [*load_or_build(folder, "pairs", lambda: drawn, drawn.load).open(reverse=False)]


def test_pairs_are_drawn_once(tmp_path: Path) -> None:
    draws: list[int] = []
    assert open_task(tmp_path, draws) == DRAWN == open_task(tmp_path, draws)
    assert len(draws) == 1 and [path.name for path in tmp_path.iterdir()] == ["pairs"]


@pytest.mark.parametrize("size", [0, 700, 1234, 2000])
def test_a_file_that_was_cut_short_is_drawn_again(size: int, tmp_path: Path) -> None:
    open_task(tmp_path, [])
    os.truncate(tmp_path / "pairs" / "pairs.tsv", size)
    draws: list[int] = []
    assert open_task(tmp_path, draws) == DRAWN and len(draws) == 1
    assert open_task(tmp_path, draws) == DRAWN and len(draws) == 1


def test_pairs_that_cannot_be_kept_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert open_task(tmp_path / "file", []) == DRAWN


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
    open_task(tmp_path, [])
    assert {"pairs.tsv", "about.json"} <= {*done[: done.index("renamed")]}
