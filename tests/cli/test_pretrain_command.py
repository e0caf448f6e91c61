"""`saccade pretrain`, and `saccade train --init-from` its folder."""

import json
from pathlib import Path

import pytest
from running import Run

QUICK = ("--budget", "2", "--set", "train.device=cpu", "--set", "train.threads=1", "--set", "model.width=16")
TEXT = "the cat sleeps .\nthe dog sees the cat .\na big dog eats an apple .\n" * 30
PAIRS = "the cat sleeps .\tle chat dort .\nthe dog sees the cat .\tle chien voit le chat .\n" * 30


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("english.txt").write_text(TEXT, encoding="utf-8")
    Path("pairs.tsv").write_text(PAIRS, encoding="utf-8")


@pytest.mark.usefixtures("texts")
def test_pairs_are_learnt_from_a_pre_trained_model(run: Run) -> None:
    done = run("pretrain", "english.txt", "--pairs", "pairs.tsv", "--objective", "masked", *QUICK, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["folder"] == str(Path("runs/english-pretrained"))
    assert "210 texts of about 5 words" in done.err and "⁇" in done.err
    assert "train it on pairs: saccade train PAIRS --init-from " in done.err
    done = run("translate", "runs/english-pretrained", "-", stdin=b"the cat sleeps .\n")
    assert done.code == 0 and "restores its input and does not translate; train it on pairs" in done.err
    done = run("train", "pairs.tsv", "--init-from", "runs/english-pretrained", *QUICK[:6], "--out", "translator")
    assert done.code == 0 and "vaswani2017 pre-trained on texts: its vocabulary and settings" in done.err
    done = run("translate", "translator", "-", stdin=b"the cat sleeps .\n")
    assert done.code == 0 and done.err == ""
    done = run("pretrain", "english.txt", "--pairs", "pairs.tsv", "--budget", "4", "--resume")
    assert done.code == 0, done.err


@pytest.mark.usefixtures("texts")
def test_mistakes_are_one_line(run: Run) -> None:
    Path("blank.txt").write_text("\n\n", encoding="utf-8")
    Path("used").mkdir()
    Path("used/file").touch()
    for arguments, message in (
        (("missing.txt",), "missing.txt: no such file"),
        (("blank.txt",), "blank.txt: 0 texts; expected at least 2 different texts"),
        (("-",), "-: can be read only once, but pre-training reads a text again; put it in a file"),
        (("english.txt", "--pairs", "missing.tsv"), "missing.tsv: no such file"),
        (("english.txt", "--pairs", "english.txt"), "english.txt:1: "),
        (("english.txt", "--objective", "guess"), "--objective must be "),
        (("english.txt", "--budget", "soon"), "--budget must be a time"),
        (("english.txt", "--model", "vaswani2071"), "vaswani2017"),
        (("english.txt", "--set", "data.noise.spam=1"), "data.noise.spam: unknown key"),
        (("english.txt", "--resume"), "there is no run to resume"),
        (("english.txt", "--out", "used"), "the folder is not empty"),
    ):
        done = run("pretrain", *arguments)
        *_, last = done.err.splitlines()
        assert done.code == 2 and last.startswith("saccade: ") and message in last, done
    assert not Path("runs").exists() or not any(Path("runs").rglob("*.toml"))
    done = run("pretrain")
    assert done.code == 2 and "Missing argument 'TEXT...'" in done.err
