"""`saccade evaluate`: scores, alignments, the report and mistakes."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from running import Run

from saccade.data import TextPair
from saccade.decode import save
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

FEW = ("--resamples", "0")  # no intervals: quicker


@pytest.fixture
def run(saccade: Run) -> Run:
    return partial(saccade, "evaluate")


@pytest.fixture
def tsv(tmp_path: Path, pairs: list[TextPair]) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs[:4]) + "\t\n", encoding="utf-8")
    return path


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.txt"
    path.write_text("0-0 1-1 2-2\n0-0 1-2 2-1 3-3\n0-0 1-1 2p2\n0-0 1-1 2-2 3-3 4-4 5-5\n\n", encoding="utf-8")
    return path


@pytest.fixture
def outputs(tmp_path: Path, pairs: list[TextPair]) -> Callable[..., Path]:
    """outputs("a", 2): a file of outputs for `tsv`, two of them wrong"""

    def write(name: str, wrong: int) -> Path:
        right = [pair.target for pair in pairs[:4]]
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(["le chien dort bien"] * wrong + right[wrong:] + ["", ""]), encoding="utf-8")
        return path

    return write


def test_evaluate_prints_the_scores_of_a_model(run: Run, model_folder: Path, tsv: Path) -> None:
    code, out, err = run(model_folder, tsv, "--by-length", "--by-frequency", "--resamples", "50")
    assert code == 0 and "4 pairs of" in out and "left out: 1 pair " in err
    assert re.search(r"BLEU +100\.0 \[", out)  # of three words, no 4-gram can be right: its interval is wide
    for name in ("chrF", "exact"):
        assert re.search(rf"{name} +100\.0 \[100\.0, 100\.0\]", out)
    assert re.search(r"WER +0\.0 \[0\.0, 0\.0\]", out) and "BLEU: nrefs:1|bs:50|" in out and "tok:13a" in out
    assert "1–5" in out and "6–10" in out and "11–15" not in out
    assert "times counted" in out and "length ratio" in out and "source words hardly read" in out


def test_evaluate_reads_two_files_and_prints_json(
    run: Run, model_folder: Path, tmp_path: Path, pairs: list[TextPair]
) -> None:
    for name, texts in (("en", [p.source for p in pairs[:4]]), ("fr", [p.target for p in pairs[:3]] + ["autre"])):
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    short = tmp_path / "short.txt"
    short.write_text("0-0\n0-0\n0-0\n5-0\n", encoding="utf-8")
    code, out, _ = run(model_folder, tmp_path / "en", tmp_path / "fr", "--gold", short, *FEW, "--json")
    results = json.loads(out)
    (system,) = results["systems"]
    (first_run,) = system["runs"]
    assert code == 0 and first_run["exact"] == 75.0 and first_run["sentences"] == 4 and system["name"] == "learnt"
    assert 0 <= first_run["alignment"]["aer"] <= 1 and set(results["aligners"]) == {"diagonal", "uniform"}
    assert [row["words"] for row in first_run["by_length"] if row["sentences"]] == ["1–5", "6–10"]
    assert results["differences"] == []


def test_evaluate_scores_alignments_against_gold(run: Run, model_folder: Path, tsv: Path, gold: Path) -> None:
    code, out, _ = run(model_folder, tsv, "--gold", gold, *FEW, "--json")
    results = json.loads(out)
    aligned = results["systems"][0]["runs"][0]["alignment"]
    assert code == 0 and results["aligners"]["diagonal"]["aer"] == pytest.approx(1 - (13 + 14) / (16 + 15))
    assert 0 <= aligned["aer"] <= 1 and aligned["sentences"] == 4
    again = json.loads(run(model_folder, tsv, "--gold", gold, *FEW, "--json", "--layer", "-1")[1])
    assert again["systems"][0]["runs"][0]["alignment"] != aligned and again["aligners"] == results["aligners"]


def test_evaluate_scores_a_task_against_its_gold(
    run: Run, untrained: Callable[..., Seq2Seq[Any, Any]], vocabularies: Vocabularies, tmp_path: Path
) -> None:
    save(tmp_path / "fixed", untrained("cho2014"), vocabularies)
    code, out, _ = run(tmp_path / "fixed", "task:phrasebook-en-fr", "--count", "3", "--beam", "1", *FEW)
    assert code == 0 and "3 pairs of task:phrasebook-en-fr" in out
    assert "diagonal" in out and re.search(r"fixed +– +– +–", out)  # no alignment of its own
    assert "hardly read" not in out


def test_evaluate_compares_files_of_translations(run: Run, tsv: Path, outputs: Callable[..., Path]) -> None:
    worse, better = outputs("worse", 3), outputs("better", 0)
    for test in ("bootstrap", "randomisation"):
        code, out, _ = run(worse, tsv, "--against", better, "--test", test, "--metrics", "chrf,exact", *FEW)
        assert code == 0 and "worse.txt" in out and f"better.txt against worse.txt, by paired {test}" in out
        assert re.search(r"exact +25\.0 +100\.0 +\+75\.00 +\S+ … \+100\.00 +0\.\d+", out)
    results = json.loads(
        run(worse, tsv, "--against", better, "--against", worse, "--metrics", "wer", *FEW, "--json")[1]
    )
    assert [row["name"] for row in results["differences"]] == ["better.txt", "worse.txt"]
    assert results["differences"][0]["difference"] < 0 == results["differences"][1]["difference"]


def test_evaluate_compares_systems_with_several_runs(run: Run, tsv: Path, outputs: Callable[..., Path]) -> None:
    first = ",".join(str(outputs(f"one-{n}", n)) for n in range(3))
    second = ",".join(str(outputs(f"two-{n}", 4)) for n in range(2))
    code, out, _ = run(first, tsv, "--against", second, "--metrics", "exact", *FEW)
    assert code == 0 and "one-1.txt" in out and "by hierarchical bootstrap" in out
    assert re.search(r"exact +75\.0 +0\.0 +-75\.00", out)
    code, _, err = run(first, tsv, "--against", second, "--test", "randomisation", *FEW)
    assert code == 2 and "as many of both, got 3 and 2" in err


def test_evaluate_takes_several_references(run: Run, tmp_path: Path, tsv: Path, outputs: Callable[..., Path]) -> None:
    hypotheses, ref, other = outputs("one", 1), outputs("ref", 0), outputs("other", 4)
    code, out, _ = run(hypotheses, "--reference", ref, "--reference", other, "--metrics", "exact", *FEW, "--json")
    results = json.loads(out)["systems"][0]["runs"][0]
    assert code == 0 and results["exact"] == 100 and results["by_length"] == []
    code, out, _ = run(hypotheses, tsv, "--reference", other, "--metrics", "exact", *FEW, "--json")
    assert json.loads(out)["systems"][0]["runs"][0]["exact"] == 100


def test_evaluate_counts_met_constraints_and_word_frequencies(
    run: Run, tmp_path: Path, tsv: Path, outputs: Callable[..., Path]
) -> None:
    constraints, train = tmp_path / "asked.jsonl", tmp_path / "train.fr"
    constraints.write_text('{"include": ["chat", "noir"]}\n\n{"exclude": ["chien"]}\n\n\n', encoding="utf-8")
    train.write_text("le le le le chat\n", encoding="utf-8")
    code, out, _ = run(outputs("one", 0), tsv, "--constraints", constraints, "--train", train, *FEW, "--json")
    results = json.loads(out)["systems"][0]["runs"][0]
    assert code == 0 and results["constraints"]["share"] == pytest.approx(1 / 3)
    assert [row["expected"] for row in results["by_frequency"]][:3] == [12, 2, 2]
    assert "1 of 2" in run(outputs("one", 0), tsv, "--constraints", constraints, *FEW)[1]


def test_evaluate_report_is_one_file_with_heatmaps(
    run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path, outputs: Callable[..., Path]
) -> None:
    report = tmp_path / "report.html"
    code, _, err = run(model_folder, tsv, "--gold", gold, "--against", outputs("one", 1), *FEW, "--report", report)
    page = report.read_text(encoding="utf-8")
    assert code == 0 and "report.html" in err
    for part in (
        "BLEU",
        "By source length",
        "diagonal",
        "le chat dort",
        'class="heat"',
        "saccade evaluate",
        "Behaviour",
    ):
        assert part in page
    assert "one.txt against learnt" in page and "<script" not in page


def test_the_report_is_in_the_language_of_the_option_or_of_the_environment(
    run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*options: object) -> str:
        report = tmp_path / "report.html"
        done = run(model_folder, tsv, "--gold", gold, *FEW, "--report", report, *options)
        assert done.code == 0 and "BLEU" in done.out and "length ratio" in done.out  # what is printed stays English
        return report.read_text(encoding="utf-8")

    page = write("--lang", "zh")
    for words in ("得分", "从译得最差的句子看起", "按源句长度", "长度比", "精确率", "对齐方式", "计分方法"):
        assert words in page, words
    for words in (">Scores<", "Worst sentences", "source words", "length ratio", ">precision<", "Made by"):
        assert words not in page
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert '<html lang="zh">' in write() and '<html lang="en">' in write("--lang", "en")
    assert "--lang must be en or zh, got 'fr'" in run(model_folder, tsv, "--lang", "fr").err


def test_evaluate_report_shows_letters_for_a_character_model(run: Run, speller_folder: Path, tmp_path: Path) -> None:
    tsv, report = tmp_path / "words.tsv", tmp_path / "report.html"
    tsv.write_text("badge\tBADGE\nfed\tFED\n", encoding="utf-8")
    assert run(speller_folder, tsv, *FEW, "--report", report)[0] == 0
    assert "pieces of the target" in (page := report.read_text(encoding="utf-8")) and 'title="B ← b: ' in page
    assert run(speller_folder, tsv, *FEW, "--report", report, "--by", "word")[0] == 0
    assert "target words" in (page := report.read_text(encoding="utf-8")) and 'title="BADGE ← badge: ' in page
    code, _, err = run(speller_folder, tsv, "--by", "letter")
    assert code == 2 and "--by must be auto, piece or word, got 'letter'" in err


def test_evaluate_explains_a_mistake_in_one_line(
    run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path, outputs: Callable[..., Path]
) -> None:
    blank, wrong, few, bad = (tmp_path / name for name in ("blank.tsv", "wrong.txt", "few.txt", "bad.jsonl"))
    blank.write_text("\t\n", encoding="utf-8")
    wrong.write_text("0-0\n0-9\n\n\n\n", encoding="utf-8")
    few.write_text("0-0\n", encoding="utf-8")
    bad.write_text('{"include": "chat"}\n' * 5, encoding="utf-8")
    file = outputs("one", 0)
    for arguments, message in (
        ((tmp_path / "none", tsv), "no such folder"),
        ((model_folder, tmp_path / "none.tsv"), "no such file"),
        ((model_folder, blank), "every pair has a blank side"),
        ((model_folder, tsv, "--gold", wrong), "wrong.txt:2: link 0-9 is out of range"),
        ((model_folder, tsv, "--gold", few), "1 lines of alignments for 5 pairs"),
        ((model_folder, tsv, "--gold", tmp_path / "none.txt"), "cannot read the alignments"),
        ((model_folder, tsv, "--gold", gold, "--gold-base", "2"), "from 0 or from 1, not from 2"),
        ((model_folder, tsv, "--gold", gold, "--layer", "7"), "layer 7 does not exist"),
        ((model_folder, "task:phrasebok-en-fr"), "did you mean 'phrasebook-en-fr'?"),
        ((model_folder, "task:phrasebook-en-fr", "--gold", gold), "brings its own"),
        ((file, tsv, "--report", tmp_path / "no" / "r.html"), "no folder"),
        ((few, tsv), "few.txt: 1 lines for the 5 pairs of"),
        ((file, tsv, "--reference", few), "few.txt: 1 lines for the 5 pairs of"),
        ((file, tsv, "--constraints", bad), "bad.jsonl:1: include: expected a list of texts"),
        ((file, tsv, "--constraints", few), "few.txt:1: "),
        ((file, tsv, "--metrics", "blue"), "did you mean 'bleu'"),
        ((file, tsv, "--against", file, "--test", "t"), "--test must be bootstrap or randomisation, got 't'"),
        ((file,), "give PAIRS, or the references by --reference"),
        ((model_folder, "--reference", file), "a model needs sources"),
        ((file, "--reference", file, "--gold", gold), "links join sources to targets"),
        ((file, tsv, "--train", tmp_path / "none"), "no such file"),
    ):
        code, _, err = run(*arguments, *FEW)
        assert code == 2 and message in err and err.count("\n") == 1, (arguments, err)
