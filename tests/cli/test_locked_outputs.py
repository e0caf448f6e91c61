"""Every command that writes for long refuses a place to which another process is writing."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running import Run

from saccade.locking import locked

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from training_processes import run_saccade


@contextmanager
def held_elsewhere(path: Path, *, folder: bool) -> Iterator[None]:
    """By another thread, to which the lock is as closed as to another process."""
    acquired, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path, folder=folder):
            acquired.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert acquired.wait(60)
    try:
        yield
    finally:
        done.set()
        thread.join()


RECIPE = "data.pairs = 'p.tsv'\ndata.vocabulary.size = 330\nmodel = {name = 'cho2014', preset = 'tiny'}\n"
COMMANDS = {
    "train": ["train", "p.tsv", "--out", "{out}"],
    "train a recipe": ["train", "r.toml", "--out", "{out}"],
    "train --resume": ["train", "r.toml", "--out", "{out}", "--resume"],
    "sweep": ["sweep", "r.toml", "--out", "{out}"],
    "compare": ["compare", "m", "n", "--on", "p.tsv", "--out", "{out}"],
    "try": ["try", "--updates", "1", "--out", "{out}"],
    "calibrate": ["calibrate", "{out}", "p.tsv"],
    "translate": ["translate", "m", "in.txt", "--out", "{out}"],
    "translate --tree": ["translate", "m", "in.txt", "--tree", "{out}"],
    "score": ["score", "m", "p.tsv", "--out", "{out}"],
    "align": ["align", "m", "p.tsv", "--out", "{out}"],
    "data": ["data", "p.tsv", "--out", "{out}"],
}
FOLDERS = {"train", "train a recipe", "train --resume", "sweep", "compare", "try", "calibrate"}


@pytest.fixture
def place(model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a model, pairs, a recipe and lines."""
    monkeypatch.chdir(tmp_path)
    for name in ("m", "n"):
        shutil.copytree(model_folder, name)
    Path("p.tsv").write_text("the cat sleeps\tle chat dort\na dog eats\tun chien mange\n", encoding="utf-8")
    Path("r.toml").write_text(RECIPE, encoding="utf-8")
    Path("in.txt").write_text("it sleeps\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_second_writer_is_refused(name: str, saccade: Run, place: Path, model_folder: Path) -> None:
    out = Path("m" if name == "calibrate" else "out")
    arguments = [argument.format(out=out) for argument in COMMANDS[name]]
    with held_elsewhere(out, folder=name in FOLDERS):
        before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
        code, printed, err = saccade(*arguments)
        assert code == 2 and f"{out}: in use by process {os.getpid()} on " in err.splitlines()[-1]
        assert printed == "" or "--tree" in name
        assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_model_can_be_read_while_its_folder_is_written(saccade: Run, place: Path) -> None:
    with held_elsewhere(Path("m"), folder=True):
        assert saccade("translate", "m", "in.txt") == (0, "il dort\n", "")


@pytest.mark.parametrize("command", ["train", "train a recipe", "sweep", "compare", "try"])
@pytest.mark.parametrize("out", ["in.txt", "in.txt/inside"])
def test_file_in_place_of_a_folder_is_explained_in_one_line(command: str, out: str, saccade: Run, place: Path) -> None:
    before = sorted(place.rglob("*"))
    code, printed, err = saccade(*(argument.format(out=out) for argument in COMMANDS[command]))
    assert (code, printed) == (2, "") and f"saccade: {out}: a file is in the way" in err
    assert err.count("saccade: ") == 1 and sorted(place.rglob("*")) == before


@pytest.mark.slow
def test_two_translations_to_one_file_corrupt_nothing(saccade: Run, place: Path) -> None:
    """Of two commands that write to one file, one is refused, and the file is as the other one alone writes it."""
    lines = ["the cat sleeps", "a dog eats", "it sleeps", "I see the house"] * 50
    Path("in.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    common = ("translate", place / "m", place / "in.txt", "--chunk", "4", "--device", "cpu")
    commands = [(*common, "--beam", "2"), (*common, "--beam", "3", "--n-best", "3")]
    expected = set()
    for number, command in enumerate(commands):
        assert saccade(*command, "--out", f"alone-{number}")[0] == 0
        expected.add(Path(f"alone-{number}").read_bytes())
    ended = {}

    def run(number: int) -> None:
        ended[number] = run_saccade(*commands[number], "--out", place / "o.txt", out=place / f"life-{number}")

    threads = [threading.Thread(target=run, args=[number]) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    codes = sorted(ending.code or 0 for ending in ended.values())
    assert codes in ([0, 2], [0, 0]), ended  # both succeed if one ends before the other begins to write
    assert all("in use by process" in ending.stderr for ending in ended.values() if ending.code == 2), ended
    assert Path("o.txt").read_bytes() in expected
