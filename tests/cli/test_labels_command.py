"""`saccade train --kind classify|tag` and `saccade labels`: from labelled texts to labels, scores and heatmaps."""

import json
from pathlib import Path

import pytest
from running import Run

from saccade.tasks import task

QUICK = ("--budget", "10", "--set", "train.device=cpu", "--set", "train.threads=1", "--set", "train.check_every=10")


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.tsv"
    pairs = task("sentiment").pairs(60, seed=1)
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


@pytest.fixture
def classifier(run: Run, reviews: Path, tmp_path: Path) -> Path:
    done = run("train", reviews, "--kind", "classify", "--out", tmp_path / "classifier", *QUICK, "--json")
    assert done.code == 0 and json.loads(done.out)["step"] == 10
    assert "recurrent+lin2017, preset tiny" in done.err and "judged by accuracy" in done.err
    return tmp_path / "classifier"


def test_labels_are_predicted_scored_and_shown(run: Run, classifier: Path, reviews: Path, tmp_path: Path) -> None:
    texts = tmp_path / "new.txt"
    texts.write_text("the soup was good.\n\nthe soup was bad.\n")
    lines = run("labels", "predict", classifier, texts).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["the soup was good.", "", "the soup was bad."]
    assert {line.split("\t")[1] for line in lines} <= {"positive", "negative"}
    done = run("labels", "predict", classifier, "--json", stdin=b"the soup was good.\n")
    (labelled,) = map(json.loads, done.out.splitlines())
    assert labelled["label"] == lines[0].split("\t")[1] and sum(labelled["probabilities"].values()) == pytest.approx(1)

    scores = json.loads(run("labels", "evaluate", classifier, reviews, "--json").out)
    assert scores["labels"] == 60 and set(scores["by_label"]) == {"positive", "negative"}
    table = run("labels", "evaluate", classifier, reviews).out
    assert "precision" in table and f"accuracy {scores['accuracy']:.1f} % of 60 labels" in table

    done = run("labels", "attend", classifier, "the soup was good.")
    assert done.code == 0 and "hop 4" in done.out and done.out.splitlines()[-1] == labelled["label"]
    done = run("labels", "attend", classifier, "the soup was good.", "--plot", tmp_path / "hops.svg")
    assert done.err == f"wrote {tmp_path / 'hops.svg'}\n"
    assert "<!-- hop 4 -->" in (tmp_path / "hops.svg").read_text()


def test_words_are_tagged(run: Run, tmp_path: Path) -> None:
    sentences = tmp_path / "tags.conll"
    pairs = task("entities").pairs(60, seed=1)
    rows = ["\n".join(map("\t".join, zip(pair.source.split(), pair.target.split()))) for pair in pairs]
    sentences.write_text("\n\n".join(rows), encoding="utf-8")
    done = run("train", sentences, "--kind", "tag", "--out", tmp_path / "tagger", *QUICK)
    assert done.code == 0 and "the tags are entities: judged by F1" in done.err
    done = run("labels", "predict", tmp_path / "tagger", stdin=b"Vornal was fined .\n")
    text, tags = done.out.rstrip("\n").split("\t")
    assert text == "Vornal was fined ." and len(tags.split()) == 4
    table = run("labels", "evaluate", tmp_path / "tagger", sentences).out
    assert "all entities" in table
    assert run("labels", "evaluate", tmp_path / "tagger", "-", stdin=sentences.read_bytes()).out == table
    done = run("labels", "attend", tmp_path / "tagger", "Vornal was fined .")
    assert done.code == 2 and "a tagger reads each word by itself, without hops" in done.err


def test_a_run_continues_and_a_pipe_is_kept(run: Run, reviews: Path, tmp_path: Path) -> None:
    command = ("train", "-", "--kind", "classify", "--out", tmp_path / "run", *QUICK)
    assert run(*command, stdin=reviews.read_bytes()).code == 0
    assert (tmp_path / "run" / "pairs.tsv").read_bytes() == reviews.read_bytes()
    done = run(*command, "--resume", "--budget", "20")
    assert done.code == 0 and "resumed at step 10" in done.err
    done = run(*command)
    assert done.code == 2 and "the folder is not empty; add --resume" in done.err
    done = run(*command, "--resume", "--model", "recurrent+mean")
    assert done.code == 2 and "model.reader was lin2017, is mean" in done.err
    done = run("train", reviews, "--out", tmp_path / "run", "--resume")
    assert done.code == 2 and "a recipe for labels (data.kind = 'classify'): saccade train --kind reads it" in done.err


def test_mistakes_get_one_line(run: Run, classifier: Path, tmp_path: Path) -> None:
    done = run("train", tmp_path / "missing.tsv", "--kind", "classify", "--out", tmp_path / "new")
    assert (done.code, done.out) == (2, "") and done.err.startswith(
        f"saccade: {tmp_path / 'missing.tsv'}: no such file"
    )
    done = run("train", "task:sentiment", "--kind", "label")
    assert done.code == 2 and "--kind must be translate, classify or tag, got 'label'" in done.err
    done = run("train", "task:sentiment", "--kind", "classify", "--mix", "more.tsv", "--out", tmp_path / "new")
    assert done.code == 2 and done.err == "saccade: --mix is for translation; leave it out\n"
    done = run("translate", classifier, stdin=b"x\n")
    assert done.code == 2 and "a classifier, not a model that translates; `saccade labels` reads it" in done.err
    done = run("labels", "predict", tmp_path / "nowhere", stdin=b"x\n")
    assert done.code == 2 and "nowhere: no such folder; expected a model folder" in done.err
    assert not (tmp_path / "new").exists() or not any((tmp_path / "new").iterdir())


def test_models_mention_the_readers_of_labels(run: Run) -> None:
    assert "recurrent+lin2017" in " ".join(run("models").out.split())
