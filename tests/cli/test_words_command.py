"""`saccade words`: from a text to vectors, neighbours, analogies, judgements and a map."""

import gzip
import json
from pathlib import Path

import pytest
from running import Run

from saccade import words

QUICK = [
    *("--size", "8", "--min-count", "1", "--epochs", "2", "--batch", "128"),
    *("--threads", "1", "--device", "cpu", "--subsample", "0"),
]
SENTENCES = "the cat sees the dog .\nthe dog sees the cat .\nthe cat sleeps .\nthe dog sleeps .\n" * 20


@pytest.fixture
def vectors(run: Run, tmp_path: Path) -> Path:
    text = tmp_path / "pets.txt.gz"
    text.write_bytes(gzip.compress(SENTENCES.encode()))
    done = run("words", "train", text, "--out", tmp_path / "pets", *QUICK, "--json")
    assert done.code == 0
    assert json.loads(done.out)["folder"] == str(tmp_path / "pets")
    assert "pets.txt.gz: 400 words, of which 400 are among the 6 words kept" in done.err
    return tmp_path / "pets"


def test_neighbours_and_analogies_are_listed(run: Run, vectors: Path) -> None:
    done = run("words", "similar", vectors, "Cat", "--count", "2", "--json")
    assert [row["word"] for row in json.loads(done.out)] == [word for word, _ in words.load(vectors).similar("cat", 2)]
    done = run("words", "analogy", vectors, "cat", "dog", "sees", "-n", "1")
    assert done.code == 0 and "cosine" in done.out
    done = run("words", "similar", vectors, "dgo")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"saccade: {vectors}: the word 'dgo' is not among the 6 words; did you mean 'dog'?\n"


def test_vectors_are_exported_and_read_again(run: Run, vectors: Path, tmp_path: Path) -> None:
    for name in ("pets.txt", "pets.bin"):
        assert run("words", "export", vectors, tmp_path / name).err == f"wrote 6 vectors to {tmp_path / name}\n"
        listed = run("words", "similar", tmp_path / name, "cat").out
        assert listed == run("words", "similar", vectors, "cat").out
    done = run("words", "export", vectors, tmp_path / "nowhere" / "pets.txt")
    assert done.code == 2 and done.err.endswith("nowhere/pets.txt: cannot be written: No such file or directory\n")
    done = run("words", "similar", tmp_path / "missing.txt", "cat")
    assert done.code == 2 and "missing.txt" in done.err


def test_judgements_are_shown(run: Run, vectors: Path, tmp_path: Path) -> None:
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions.txt"
    pairs.write_text("cat\tdog\t9\ncat\tsees\t2\ncow\tdog\t5\n")
    questions.write_text("cat dog sees sleeps\n")
    both = ("--similarity", pairs, "--analogies", questions)
    done = run("words", "evaluate", vectors, *both)
    assert "2 of 3" in done.out and "1 of 1" in done.out
    scores = json.loads(run("words", "evaluate", vectors, *both, "--json").out)
    assert scores["pairs.tsv"]["scored"] == 2 and scores["questions.txt"]["questions"] == 1
    done = run("words", "evaluate", vectors)
    assert done.code == 2 and "give --similarity FILE, --analogies FILE, or both" in done.err


def test_a_map_is_drawn(run: Run, vectors: Path, tmp_path: Path) -> None:
    done = run("words", "map", vectors, "--out", tmp_path / "map.svg")
    assert done.code == 0 and done.err.endswith(f"wrote {tmp_path / 'map.svg'}\n")
    drawn = (tmp_path / "map.svg").read_text()
    assert all(f"<!-- {word} -->" in drawn for word in ("cat", "dog", "sees"))
    done = run("words", "map", vectors, "--out", tmp_path / "map.xyz")
    assert done.code == 2 and "not a kind of figure; end its name in .png, .svg or .pdf" in done.err
    done = run("words", "map", vectors, "--words", "cat")
    assert done.code == 2 and "a map needs at least 3 words, got 1" in done.err


def test_a_folder_with_something_else_is_refused(run: Run, vectors: Path, tmp_path: Path) -> None:
    done = run("words", "train", tmp_path / "pets.txt.gz", "--out", vectors, *QUICK)
    assert done.code == 2 and "the folder is not empty; add --resume" in done.err
    done = run("words", "train", tmp_path / "pets.txt.gz", "--out", vectors, *QUICK, "--resume")
    assert done.code == 0
    done = run("words", "train", "--out", tmp_path / "new")
    assert done.code == 2 and "Missing argument 'TEXT'" in done.err
    done = run("words", "train", tmp_path / "nothing.txt", "--out", tmp_path / "new", *QUICK)
    assert done.code == 2 and "nothing.txt" in done.err and not (tmp_path / "new").exists()


def test_standard_input_is_a_text(run: Run, tmp_path: Path) -> None:
    done = run("words", "train", "-", "--out", tmp_path / "pets", *QUICK, stdin=SENTENCES.encode())
    assert done.code == 0 and len(words.load(tmp_path / "pets")) == 6
