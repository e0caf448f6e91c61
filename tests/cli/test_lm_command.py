"""`saccade lm`: from a text to a model, perplexities, generated texts and an ARPA file."""

import json
from pathlib import Path

import pytest
from running import Run

from saccade import lm

TEXT = "the cat sees the dog .\nthe dog sees the cat .\nthe cat sleeps .\n" * 5


@pytest.fixture
def model(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "pets.txt").write_text(TEXT)
    done = run("lm", "train", tmp_path / "pets.txt", "--out", tmp_path / "pets", "--order", "3")
    assert done.code == 0 and done.err.endswith(f" n-grams of 6 words; the model is in {tmp_path / 'pets'}\n")
    return tmp_path / "pets"


def test_perplexities_and_lines(run: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "test.txt"
    text.write_text("the dog sleeps .\nthe fox sleeps .\n")
    done = run("lm", "score", model, text)
    assert done.code == 0 and "perplexity" in done.out
    scores = json.loads(run("lm", "score", model, text, "--json").out)
    assert (scores["texts"], scores["tokens"], scores["unknown"]) == (2, 10, 1)
    lines = run("lm", "score", model, text, "--per-line").out.split()
    expected = [score.log_probability for score in lm.load(model).score_texts(text.read_text().splitlines())]
    assert [float(line) for line in lines] == pytest.approx(expected, abs=1e-4)
    rows = run("lm", "score", model, text, "--per-line", "--json").out.splitlines()
    assert [json.loads(row)["unknown"] for row in rows] == [0, 1]
    done = run("lm", "score", model, "-", "--json", stdin=text.read_bytes())
    assert json.loads(done.out) == scores


def test_texts_are_generated_and_exported(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("lm", "generate", model, "--count", "3", "--start", "the cat")
    assert done.code == 0 and [line[:7] for line in done.out.splitlines()] == ["the cat"] * 3
    done = run("lm", "export", model, tmp_path / "pets.arpa")
    assert done.code == 0 and (tmp_path / "pets.arpa").read_text().startswith("\\data\\\nngram 1=9\n")


def test_mistakes_are_one_line(run: Run, model: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (("score", tmp_path / "nothing", "-"), "no such folder; expected a model folder"),
        (("score", model, tmp_path / "nothing.txt"), "nothing.txt"),
        (("score", model, "-"), "nothing to score: there are no texts"),
        (("train", tmp_path / "nothing.txt", "--out", tmp_path / "new"), "nothing.txt"),
        (("train", tmp_path / "pets.txt", "--out", model), "the folder is not empty"),
    ):
        done = run("lm", *arguments)
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1, done
    done = run("lm", "train", "--out", tmp_path / "new")
    assert done.code == 2 and "Missing argument 'TEXT'" in done.err
    assert not (tmp_path / "new").exists() or not any((tmp_path / "new").iterdir())


def test_a_network_is_trained_scored_and_looked_at(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pets.txt").write_text(TEXT * 8)
    out = tmp_path / "gpt"
    settings = [f"--set={key}" for key in ("model.preset=tiny", "train.tokens=300", "train.device=cpu")]
    train = (
        "lm",
        "train",
        tmp_path / "pets.txt",
        "--model",
        "radford2018",
        "--unit",
        "word",
        "--budget",
        "30",
        *settings,
    )
    done = run(*train, "--out", out, "--json")
    assert done.code == 0 and json.loads(done.out)["step"] == 30
    assert "about 504 words, read as 120 lines" in done.err
    scores = json.loads(run("lm", "score", out, tmp_path / "pets.txt", "--json").out)
    assert scores["texts"] == 120 and 1 < scores["perplexity"] < 10
    done = run("lm", "generate", out, "--start", "the", "--count", "2", "--longest", "20", "--top-k", "3")
    assert done.code == 0 and [line[:3] for line in done.out.splitlines()] == ["the", "the"]
    done = run("lm", "attend", out, "the cat sees", "--plot", tmp_path / "read.svg")
    assert done.code == 0 and (tmp_path / "read.svg").exists() and "<s>" in run("lm", "attend", out, "the cat").out
    for arguments, message in (
        (
            ("generate", out, "--longest", "9999"),
            "--longest must be at most 512, the positions of this model; got 9999",
        ),
        (("attend", out, "the cat", "--layer", "7"), "layer 7 does not exist: the model has 2, counted from 0"),
        (("attend", out, "the cat", "--plot", tmp_path / "read.xyz"), "not a kind of figure"),
        (("export", out, tmp_path / "x.arpa"), "a radford2018 model, not n-grams"),
        (train[1:], "the folder is not empty"),
    ):
        done = run("lm", *arguments, *(["--out", str(out)] if arguments == train[1:] else []))
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1, done
    done = run(*train[:-3], "--budget", "40", "--out", out, "--resume")
    assert done.code == 0 and "step 40" in done.err, done.err


def test_options_of_networks_are_not_for_ngrams(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("lm", "generate", model, "--best")
    assert done.code == 2 and "--best is for networks; n-grams are drawn with count, start, temperature" in done.err
    done = run("lm", "attend", model, "the cat")
    assert done.code == 2 and "n-grams, not a network; train one with --model radford2018, say" in done.err
    done = run("lm", "train", tmp_path / "pets.txt", "--block", "8", "--out", tmp_path / "new")
    assert done.code == 2 and "--block is for networks, not for chen1998; leave it out" in done.err
