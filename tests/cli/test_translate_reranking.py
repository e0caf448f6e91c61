"""`saccade translate --mbr`, reranking by other models, and `saccade rerank`."""

import json
from pathlib import Path
from typing import Any

import pytest
from running import Run

from saccade.data import TextPair
from saccade.decode import Reranker, Search, Translator, minimise_risk, save
from saccade.ngrams.ngram_model import load


@pytest.fixture
def run(saccade: Run) -> Run:
    return lambda command, *others: saccade(command, "--device", "cpu", *others)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_text("the black cat sleeps\n\na big dog\n", encoding="utf-8")
    return path


@pytest.fixture
def other(learnt: Translator, tmp_path: Path) -> Path:
    save(tmp_path / "r2l", learnt.model, learnt.vocabularies.towards(right_to_left=True))
    return tmp_path / "r2l"


def test_mbr_chooses_the_hypothesis_with_the_lowest_risk(
    run: Run, model_folder: Path, learnt: Translator, lines: Path
) -> None:
    drawn = learnt.translate(["the black cat sleeps", "", "a big dog"], Search(sample=True, beam=8, n_best=8))
    expected = [minimise_risk(translation) for translation in drawn]
    code, out, _ = run("translate", model_folder, lines, "--sample", "--beam", "8", "--mbr", "chrf")
    assert code == 0 and out.splitlines() == [translation.text for translation in expected]
    *_, third = run("translate", model_folder, lines, "--sample", "--beam", "8", "--mbr", "chrf", "--jsonl")[
        1
    ].splitlines()
    assert json.loads(third)["score"] == pytest.approx(expected[2].score) and json.loads(third)["alternatives"] == []
    code, out, _ = run("translate", model_folder, lines, "--mbr", "bleu", "--n-best", "2")
    assert code == 0 and [line.split("\t")[0] for line in out.splitlines()] == ["1", "1", "2", "3", "3"]


def test_rerank_tunes_weights_that_translate_uses(
    run: Run, model_folder: Path, learnt: Translator, other: Path, lines: Path, pairs: list[TextPair], tmp_path: Path
) -> None:
    tsv, weights = tmp_path / "pairs.tsv", tmp_path / "weights.json"
    tsv.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    code, out, _ = run("rerank", model_folder, tsv, "--right-to-left", other, "--beam", "4", "--out", weights)
    assert code == 0 and "chrf of 8 sentences" in out and "right_to_left" in out
    tuned: dict[str, Any] = json.loads(weights.read_text())
    assert tuned["sentences"] == 8 and tuned["after"] >= tuned["before"] - 1e-9
    command = ("translate", model_folder, lines, "--right-to-left", other, "--beam", "4")
    code, out, _ = run(*command, "--rerank-weights", weights)
    reranker = Reranker(
        translator=learnt,
        right_to_left=Translator(learnt.model, learnt.vocabularies.towards(right_to_left=True), "cpu"),
        weights=tuned["weights"],
    )
    translations = learnt.translate(["the black cat sleeps", "", "a big dog"], Search(beam=4, n_best=4))
    assert code == 0 and out.splitlines() == [translation.text for translation in reranker.rerank(translations)]
    code, out, _ = run(*command, "--rerank-weights", "model=0,length=0,right-to-left=1", "--chunk", "2")
    assert code == 0 and len(out.splitlines()) == 3


def test_noisy_channel_with_a_language_model(
    run: Run, saccade: Run, model_folder: Path, learnt: Translator, lines: Path, pairs: list[TextPair], tmp_path: Path
) -> None:
    tsv, weights, french, prior = (tmp_path / name for name in ("pairs.tsv", "weights.json", "fr.txt", "fr-lm"))
    tsv.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    french.write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    assert saccade("lm", "train", french, "--out", prior, "--order", "3").code == 0
    judges = ("--channel", model_folder, "--prior", prior)
    code, out, _ = run("rerank", model_folder, tsv, *judges, "--beam", "4", "--out", weights)
    tuned = json.loads(weights.read_text())["weights"]
    assert code == 0 and [*tuned] == ["model", "length", "channel", "prior"] and "prior" in out
    command = ("translate", model_folder, lines, *judges, "--beam", "4")
    code, out, _ = run(*command, "--rerank-weights", weights, "--jsonl")
    reranker = Reranker(translator=learnt, channel=learnt, prior=load(prior), weights=tuned)
    found = learnt.translate(["the black cat sleeps", "", "a big dog"], Search(beam=4, n_best=4))
    expected = [(each.text, pytest.approx(each.score)) for each in reranker.rerank(found)]
    assert code == 0 and [(each["text"], each["score"]) for each in map(json.loads, out.splitlines())] == expected
    code, out, err = run("translate", model_folder, lines, "--prior", prior, "--rerank-weights", weights)
    assert code == 2 and out == "" and "the scores are model, length, prior" in err and err.count("\n") == 1


def test_reranking_explains_a_mistake_in_one_line(
    run: Run, model_folder: Path, other: Path, lines: Path, tmp_path: Path
) -> None:
    for options, message in (
        (("--mbr", "ter"), "--mbr must be chrf or bleu"),
        (("--mbr", "chrf", "--beam", "1"), "nothing to choose"),
        (("--mbr", "chrf", "--channel", model_folder), "give one of them"),
        (("--right-to-left", model_folder), "both models begin at the left"),
        (("--prior", model_folder), "a model that translates, not a language model; `saccade lm train` makes these"),
        (("--prior", tmp_path / "none"), "no such folder"),
        (("--channel", tmp_path / "none"), "no such folder"),
        (
            ("--channel", model_folder, "--rerank-weights", "model=1"),
            "but the scores are model, length, channel",
        ),
        (("--rerank-weights", "model=much"), "--rerank-weights model=much"),
        (("--rerank-weights", tmp_path / "none.json"), "cannot be read"),
    ):
        code, out, err = run("translate", model_folder, lines, *options)
        assert code == 2 and out == "" and message in err and err.count("\n") == 1
    assert run("rerank", model_folder, lines, "--metric", "ter")[0] == 2
