import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from saccade.data import Corpus, ListedPairs, PairFiles, Selection, TextPair, cache_key, load_or_build
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


def test_an_entry_is_built_once_and_then_loaded(tmp_path: Path) -> None:
    build, folder = Builder(), tmp_path / "made" / "when needed"
    first = cached(folder, "key", build)
    second = cached(folder, "key", build)
    assert build.built == 1
    assert same(first, second) and first.report == second.report
    assert [file.name for file in folder.iterdir()] == ["key"]
    cached(folder, "another", build)
    assert build.built == 2


def test_a_damaged_entry_is_built_again_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    build = Builder()
    cached(tmp_path, "key", build)
    file = tmp_path / "key" / "source_ids.npy"
    file.write_bytes(file.read_bytes()[:-4])
    assert same(cached(tmp_path, "key", build), build())
    assert "built again" in caplog.text
    before = build.built
    cached(tmp_path, "key", build)
    assert build.built == before


def test_the_journal_of_a_killed_writer_is_removed(tmp_path: Path) -> None:
    """A writer that was killed after it moved its last file leaves an empty journal, and the entry is complete."""
    build = Builder()
    cached(tmp_path, "key", build)
    (tmp_path / "key" / ".committed").mkdir()
    cached(tmp_path, "key", build)
    assert build.built == 1 and not (tmp_path / "key" / ".committed").exists()


def test_a_killed_writer_leaves_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_corpus_that_cannot_be_saved_stays_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert len(cached(tmp_path / "file", "key", Builder())) == 20
    assert "stay in memory" in caplog.text


def test_the_key_depends_on_the_files_the_vocabulary_and_the_options(tmp_path: Path) -> None:
    files = PairFiles(tmp_path / "pairs.tsv")
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    before = cache_key(files.digest(), VOCABULARIES.hash, 256)
    assert (
        before == cache_key(files.digest(), VOCABULARIES.hash, 256) != cache_key(files.digest(), VOCABULARIES.hash, 99)
    )
    (tmp_path / "pairs.tsv").write_text("a\tc\n")
    assert cache_key(files.digest(), VOCABULARIES.hash, 256) != before


def test_the_key_depends_on_the_format_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a newer version would read arrays that an older one has laid out differently."""
    before = cache_key("digest", 256)
    monkeypatch.setattr("saccade.data.cache.FORMAT", FORMAT + 1)
    assert cache_key("digest", 256) != before


DRAWN = [TextPair(f"source {i}", f"target {i}") for i in range(100)]


def open_task(folder: Path, draws: list[int]) -> list[TextPair]:
    def draw() -> Iterator[TextPair]:
        draws.append(1)
        return iter(DRAWN)

    drawn = TaskPairs(draw=draw)
    return [*load_or_build(folder, "pairs", lambda: drawn, drawn.load).open(reverse=False)]


def test_the_pairs_of_a_task_are_drawn_once(tmp_path: Path) -> None:
    draws: list[int] = []
    assert open_task(tmp_path, draws) == DRAWN == open_task(tmp_path, draws)
    assert len(draws) == 1 and [path.name for path in tmp_path.iterdir()] == ["pairs"]


@pytest.mark.parametrize("size", [0, 700, 1234, 2000])
def test_the_pairs_of_a_truncated_file_are_drawn_again(size: int, tmp_path: Path) -> None:
    open_task(tmp_path, [])
    os.truncate(tmp_path / "pairs" / "pairs.tsv", size)
    draws: list[int] = []
    assert open_task(tmp_path, draws) == DRAWN and len(draws) == 1
    assert open_task(tmp_path, draws) == DRAWN and len(draws) == 1


def test_drawn_pairs_that_cannot_be_saved_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert open_task(tmp_path / "file", []) == DRAWN


def test_an_entry_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
