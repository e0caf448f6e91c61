"""`saccade align`: formats, choice of weights, both directions, gold alignments and mistakes."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from running import Run

from saccade.align import format_links, read_gold
from saccade.align.aligner import Aligner
from saccade.data import TextPair
from saccade.decode import Translator, save
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

NO_ERROR = ["0.000", "1.000", "1.000"]  # AER, precision, recall
GOLD = "0-0 1-1 2-2\n0-0 1-2 2-1 3-3\n\n0-0 1-1 2?2\n"


@pytest.fixture
def run(saccade: Run) -> Run:
    return partial(saccade, "align", "--device", "cpu")


@pytest.fixture
def few_pairs(pairs: list[TextPair]) -> list[TextPair]:
    return [*pairs[:2], TextPair("", ""), pairs[2]]


@pytest.fixture
def tsv(tmp_path: Path, few_pairs: list[TextPair]) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in few_pairs), encoding="utf-8")
    return path


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.txt"
    path.write_text(GOLD, encoding="utf-8")
    return path


def test_align_writes_one_line_per_pair(
    run: Run, model_folder: Path, learnt: Translator, tsv: Path, few_pairs: list[TextPair]
) -> None:
    code, out, err = run(model_folder, tsv)
    assert code == 0 and err == ""
    assert out.split("\n") == [*(format_links(item.links) for item in Aligner(learnt).align(few_pairs)), ""]
    assert out.split("\n")[2] == ""  # the blank pair keeps its line


def test_align_writes_the_gold_and_json_formats(
    run: Run, model_folder: Path, tsv: Path, few_pairs: list[TextPair], tmp_path: Path
) -> None:
    links = run(model_folder, tsv)[1]
    code, _, err = run(model_folder, tsv, "--format", "gold", "--out", tmp_path / "links")
    assert code == 0 and err == ""
    assert [format_links(item.sure) for item in read_gold(tmp_path / "links", lengths=[(9, 9)] * 4)] == links.split(
        "\n"
    )[:4]
    lines = [json.loads(line) for line in run(model_folder, tsv, "--format", "json")[1].splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3, 4]
    assert lines[1]["target_words"] == few_pairs[1].target.split() and len(lines[1]["weights"]) == 4
    assert format_links(frozenset(map(tuple, lines[0]["alignment"]))) == links.split("\n")[0]


def test_align_reads_two_files_and_standard_input(
    run: Run, model_folder: Path, tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = run(model_folder, tsv)[1]
    for side, name in enumerate(("en", "fr")):
        texts = [line.split("\t")[side] for line in tsv.read_text(encoding="utf-8").splitlines()]
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    assert run(model_folder, tmp_path / "en", tmp_path / "fr")[1] == links
    with tsv.open(encoding="utf-8") as stream:  # gone through more than once, to choose
        monkeypatch.setattr(sys, "stdin", stream)
        code, out, err = run(model_folder, "-", "--shift", "auto")
    assert code == 0 and len(out.splitlines()) == 4 and "predictability in bits" in err


def test_align_uses_the_given_layer_head_and_shift(run: Run, model_folder: Path, tsv: Path) -> None:
    results = {
        options: run(model_folder, tsv, *options)
        for options in [
            (),
            ("--layer", "1"),
            ("--head", "0"),
            ("--layer", "1", "--head", "1"),
            ("--mean",),
            ("--shift", "0"),
        ]
    }
    assert all(code == 0 and err == "" for code, _, err in results.values())
    assert len({out for _, out, _ in results.values()}) > 3
    assert run(model_folder, tsv, "--shift", "1")[1] == results[()][1]  # a Transformer's own


def test_align_reports_scores_the_chosen_head_and_entropy(
    run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path
) -> None:
    summary, out = tmp_path / "summary.json", tmp_path / "links"
    options = ("--gold", gold, "--best-head", "--shift", "auto", "--entropy", "--summary", summary, "--out", out)
    code, printed, err = run(model_folder, tsv, *options)
    assert code == 0 and printed == "" and len(out.read_text(encoding="utf-8").split("\n")) == 5
    assert "best of 14 candidates on 3 pairs; 1 − AER" in err and "give --valid for a fair score" in err
    assert "diagonal" in err and "entropy, bits" in err
    results = json.loads(summary.read_text(encoding="utf-8"))
    assert results["scores"]["attention"]["aer"] == pytest.approx(1 - results["choice"]["value"])
    assert results["reader"] == results["choice"]["reader"] and results["reverse"] is None
    assert [len(layer) for layer in results["entropy_bits"]] == [2, 2]
    usual = json.loads(_summary(run, model_folder, tsv, gold, summary))
    assert usual["scores"]["attention"]["aer"] >= results["scores"]["attention"]["aer"]
    assert usual["reader"] == {"layer": 0, "head": None, "shift": 1} and usual["choice"] is None


def _summary(run: Run, model_folder: Path, tsv: Path, gold: Path, summary: Path) -> str:
    assert run(model_folder, tsv, "--gold", gold, "--summary", summary)[0] == 0
    return summary.read_text(encoding="utf-8")


def test_align_chooses_the_head_on_validation_pairs(
    run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path
) -> None:
    valid, known = tmp_path / "valid.tsv", tmp_path / "valid.links"
    valid.write_text("the cat sleeps\tle chat dort\n", encoding="utf-8")
    known.write_text("1 1 1 S\n1 2 2 P\n", encoding="utf-8")
    code, _, err = run(model_folder, tsv, "--best-head", "--valid", valid, "--valid-gold", known, "--gold", gold)
    assert code == 0 and "on 1 pair; 1 − AER" in err and "fair score" not in err
    assert "predictability in bits" in run(model_folder, tsv, "--best-head", "--valid", valid)[2]


def test_align_combines_both_directions(run: Run, model_folder: Path, tsv: Path, gold: Path) -> None:
    with_reverse = ("--with", model_folder)
    sets = {
        method: set(run(model_folder, tsv, *with_reverse, "--symmetrise", method)[1].split("\n")[1].split())
        for method in ("intersection", "grow-diag", "grow-diag-final", "grow-diag-final-and", "union")
    }
    assert sets["intersection"] <= sets["grow-diag"] <= sets["grow-diag-final"] <= sets["union"]
    code, _, err = run(model_folder, tsv, *with_reverse, "--shift", "auto")
    assert code == 0 and "in the reverse model" in err and "agreement of both directions" in err


def test_align_scores_a_task_against_its_gold(run: Run, model_folder: Path) -> None:
    code, out, err = run(model_folder, "task:phrasebook-en-fr", "--count", "3")
    assert code == 0 and len(out.splitlines()) == 3 and "AER" in err


def test_align_links_letters_for_a_character_model(run: Run, speller_folder: Path, tmp_path: Path) -> None:
    tsv, gold, summary = tmp_path / "t.tsv", tmp_path / "t.links", tmp_path / "summary.json"
    tsv.write_text("badge\tBADGE\nfed\tFED\n", encoding="utf-8")
    code, out, err = run(speller_folder, tsv, "--summary", summary)
    assert (code, out) == (0, "0-0 1-1 2-2 3-3 4-4\n0-0 1-1 2-2\n")
    assert err == "links are between pieces; --by word links words\n"
    assert json.loads(summary.read_text(encoding="utf-8"))["unit"] == "piece"
    assert run(speller_folder, tsv, "--by", "word") == (0, "0-0\n0-0\n", "")
    item = json.loads(run(speller_folder, tsv, "--format", "json")[1].splitlines()[1])
    assert (item["unit"], item["source_pieces"], item["target_pieces"]) == ("piece", [*"fed"], [*"FED"])
    gold.write_text("0-0\n0-0\n", encoding="utf-8")
    assert run(speller_folder, tsv, "--gold", gold)[1] == "0-0\n0-0\n"  # gold links are between words
    gold.write_text("0-0 1-1 2-2 3-3 4-4\n0-0 1-1 2-2\n", encoding="utf-8")
    code, _, err = run(speller_folder, tsv, "--gold", gold, "--by", "piece")
    assert code == 0 and next(line for line in err.splitlines() if "attention" in line).split()[1:] == NO_ERROR


def test_align_splits_tokenised_text_at_spaces(run: Run, model_folder: Path, tmp_path: Path) -> None:
    tsv, gold = tmp_path / "t.tsv", tmp_path / "t.links"
    tsv.write_text("the cat ...\tle chat ...\n", encoding="utf-8")
    gold.write_text("1-1 2-2 3-3\n", encoding="utf-8")
    code, out, _ = run(model_folder, tsv, "--tokenised", "--gold", gold, "--gold-base", "1")
    assert code == 0 and {link.split("-")[1] for link in out.split()} <= {"0", "1", "2"}
    code, _, err = run(model_folder, tsv, "--tokenised", "--gold", gold)
    assert code == 2 and "t.links:1: link 3-3 is out of range; the pair has 3 source and 3 target words" in err


def test_align_explains_a_mistake_in_one_line_and_writes_nothing(
    run: Run,
    model_folder: Path,
    tsv: Path,
    gold: Path,
    tmp_path: Path,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    vocabularies: Vocabularies,
) -> None:
    save(tmp_path / "fixed", untrained("cho2014"), vocabularies)
    wrong, uneven = tmp_path / "wrong.txt", tmp_path / "uneven"
    wrong.write_text("0-0\n0-0\n\n7-0\n", encoding="utf-8")
    uneven.write_text("un\n", encoding="utf-8")
    out = tmp_path / "out.links"
    for arguments, message in (
        ((tmp_path / "none", tsv), "no such folder"),
        ((tmp_path / "fixed", tsv), "the model has no attention to align by"),
        ((model_folder, tsv, "--with", tmp_path / "fixed"), "the reverse model has no attention to align by"),
        ((model_folder, tmp_path / "none.tsv"), "no such file"),
        ((model_folder, tsv, uneven), "expected the same number of lines"),
        ((model_folder, tsv, "--gold", wrong), "wrong.txt:4: link 7-0 is out of range"),
        ((model_folder, tsv, "--gold", uneven), "1 lines of alignments for 4 pairs"),
        ((model_folder, tsv, "--by", "letter"), "--by must be auto, piece or word, got 'letter'"),
        ((model_folder, tsv, "--by", "piece", "--tokenised"), "leave out tokenised to align by piece"),
        ((model_folder, tsv, "--format", "giza"), "--format must be pharaoh, gold or json, got 'giza'"),
        ((model_folder, tsv, "--layer", "0", "--mean"), "give one of the three"),
        ((model_folder, tsv, "--shift", "2"), "--shift must be 0, 1 or auto, got '2'"),
        ((model_folder, tsv, "--layer", "9"), "layer 9 does not exist"),
        ((model_folder, tsv, "--head", "9"), "head 9 does not exist"),
        ((model_folder, tsv, "--symmetrise", "grow"), "--symmetrise must be intersection"),
        ((model_folder, tsv, "--valid-gold", gold), "has no pairs; give them by --valid"),
        ((model_folder, "task:phrasebook-en-fr", "--gold", gold), "brings its own"),
    ):
        code, printed, err = run(*arguments, "--out", out)
        assert code == 2 and message in err and err.count("\n") == 1, (arguments, err)
        assert printed == "" and not list(tmp_path.glob("out.links*"))
    code, _, err = run(model_folder, tsv, "--out", tmp_path)
    assert code == 2 and "a folder" in err
