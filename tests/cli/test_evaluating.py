"""`saccade evaluate` as a user meets it: scores, alignments, the report, mistakes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.cli import main
from saccade.data import TextPair
from saccade.decode import save
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["saccade", "evaluate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return int(ended.value.code or 0), out, err

    return run


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


def test_scores_of_what_was_learnt(run: Run, model_folder: Path, tsv: Path) -> None:
    code, out, err = run(model_folder, tsv, "--by-length")
    assert code == 0 and "4 pairs of" in out and "left out: 1 pairs" in err
    assert "BLEU  100.0" in out and "chrF  100.0" in out and "exact 100.0" in out and "tok:13a" in out
    assert "1–5" in out and "6–10" in out and "11–15" not in out


def test_two_files_and_json(run: Run, model_folder: Path, tmp_path: Path, pairs: list[TextPair], gold: Path) -> None:
    for name, texts in (("en", [p.source for p in pairs[:4]]), ("fr", [p.target for p in pairs[:3]] + ["autre"])):
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    short = tmp_path / "short.txt"
    short.write_text("0-0\n0-0\n0-0\n5-0\n", encoding="utf-8")
    code, out, _ = run(model_folder, tmp_path / "en", tmp_path / "fr", "--gold", short, "--json")
    found = json.loads(out)
    assert code == 0 and found["exact"] == 75.0 and found["sentences"] == 4
    assert set(found["alignment"]) == {"attention", "diagonal", "uniform"}
    assert [row["words"] for row in found["by_length"] if row["sentences"]] == ["1–5", "6–10"]


def test_alignments_against_gold(run: Run, model_folder: Path, tsv: Path, gold: Path) -> None:
    code, out, _ = run(model_folder, tsv, "--gold", gold, "--json")
    found = json.loads(out)["alignment"]
    assert code == 0 and found["diagonal"]["aer"] == pytest.approx(1 - (13 + 14) / (16 + 15))
    assert 0 <= found["attention"]["aer"] <= 1 and found["attention"]["sentences"] == 4
    last = json.loads(run(model_folder, tsv, "--gold", gold, "--json", "--layer", "-1")[1])["alignment"]
    assert last["attention"] != found["attention"] and last["diagonal"] == found["diagonal"]


def test_a_task_brings_its_gold(
    run: Run, untrained: Callable[..., Seq2Seq[Any, Any]], vocabularies: Vocabularies, tmp_path: Path
) -> None:
    save(tmp_path / "fixed", untrained("cho2014"), vocabularies)
    code, out, _ = run(tmp_path / "fixed", "task:phrasebook-en-fr", "--count", "3", "--beam", "1")
    assert code == 0 and "3 pairs of task:phrasebook-en-fr" in out
    assert "diagonal" in out and "one fixed vector" in out


def test_the_report_is_one_file_with_heatmaps(
    run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path
) -> None:
    code, _, err = run(model_folder, tsv, "--gold", gold, "--report", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert code == 0 and "report.html" in err
    for part in ("BLEU", "By source length", "diagonal", "le chat dort", 'class="heat"', "saccade evaluate"):
        assert part in page
    assert "<script" not in page


def test_mistakes_are_one_line_and_2(run: Run, model_folder: Path, tsv: Path, gold: Path, tmp_path: Path) -> None:
    blank, wrong, few = tmp_path / "blank.tsv", tmp_path / "wrong.txt", tmp_path / "few.txt"
    blank.write_text("\t\n", encoding="utf-8")
    wrong.write_text("0-0\n0-9\n\n\n\n", encoding="utf-8")
    few.write_text("0-0\n", encoding="utf-8")
    for arguments, said in (
        ((tmp_path / "none", tsv), "no such folder"),
        ((model_folder, tmp_path / "none.tsv"), "no such file"),
        ((model_folder, blank), "every pair has a blank side"),
        ((model_folder, tsv, "--gold", wrong), "wrong.txt:2: link 0-9 is out of range"),
        ((model_folder, tsv, "--gold", few), "1 lines of alignments for 5 pairs"),
        ((model_folder, tsv, "--gold", tmp_path / "none.txt"), "cannot read the alignments"),
        ((model_folder, tsv, "--gold", gold, "--layer", "7"), "layer 7 does not exist"),
        ((model_folder, "task:phrasebok-en-fr"), "did you mean phrasebook-en-fr?"),
        ((model_folder, "task:phrasebook-en-fr", "--gold", gold), "brings its own"),
        ((model_folder, tsv, "--report", tmp_path / "no" / "r.html"), "cannot write the report"),
    ):
        code, _, err = run(*arguments)
        assert code == 2 and said in err, (arguments, err)
