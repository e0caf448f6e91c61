"""`saccade align` with ibm1, ibm2 and hmm, which learn from the pairs."""

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from running import Run

from saccade.align.statistical.em import Direction

LINES = ["the house\tdas Haus", "the book\tdas Buch", "\t", "a book\tein Buch"]
LINKS = "0-0 1-1\n0-0 1-1\n\n0-0 1-1\n"


@pytest.fixture
def run(saccade: Run) -> Run:
    return partial(saccade, "align")


@pytest.fixture
def tsv(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


@pytest.mark.parametrize("model", ["ibm2", "hmm"])
def test_links_are_written_for_every_line(run: Run, tsv: Path, tmp_path: Path, model: str) -> None:
    assert run(model, tsv) == (0, LINKS, "")
    assert run(model, tsv, "--out", tmp_path / "links") == (0, "", "")
    assert (tmp_path / "links").read_text(encoding="utf-8") == LINKS
    assert run(model, tsv, "--format", "gold")[1].splitlines()[-1] == "0004 2 2 S"
    (first, _, blank, _) = map(json.loads, run(model, tsv, "--format", "json")[1].splitlines())
    assert first["alignment"] == [[0, 0], [1, 1]] and first["target_words"] == ["das", "Haus"]
    assert all(sum(row) <= 1.001 for row in first["weights"]) and blank["alignment"] == blank["weights"] == []


def test_two_files_standard_input_and_more_pairs(run: Run, tsv: Path, tmp_path: Path) -> None:
    for side, name in enumerate(("en", "de")):
        texts = [line.split("\t")[side] for line in LINES]
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    (tmp_path / "new.tsv").write_text("a house\tein Haus\n", encoding="utf-8")
    assert run("hmm", tmp_path / "en", tmp_path / "de")[1] == LINKS
    assert run("hmm", "-", stdin=tsv.read_bytes())[1] == LINKS
    more = ("--learn-from", tmp_path / "en", "--learn-from-targets", tmp_path / "de")
    assert run("hmm", tmp_path / "new.tsv", "--learn-from", tsv) == (0, "0-0 1-1\n", "")
    assert run("hmm", tmp_path / "new.tsv", *more) == (0, "0-0 1-1\n", "")


def test_links_are_scored_against_gold(run: Run, tsv: Path, tmp_path: Path) -> None:
    gold, summary = tmp_path / "gold", tmp_path / "summary.json"
    gold.write_text("0-0 1-1\n0-0 1-1\n\n0-0 1?1\n", encoding="utf-8")
    options = ("--gold", gold, "--summary", summary, "--tokenised", "--symmetrise", "none", "--iterations", "3")
    code, out, err = run("hmm", tsv, *options)
    assert code == 0 and out == LINKS and "diagonal" in err
    assert next(line for line in err.splitlines() if "hmm" in line).split()[1:] == ["0.000", "1.000", "1.000"]
    results = json.loads(summary.read_text(encoding="utf-8"))
    assert results["model"] == "hmm" and results["learnt_pairs"] == 3
    assert results["symmetrised"] is results["reader"] is results["entropy_bits"] is None
    code, out, err = run("ibm1", "task:phrasebook-en-fr", "--count", "20", "--iterations", "1")
    assert code == 0 and len(out.splitlines()) == 20 and "AER" in err


def test_a_folder_of_that_name_is_a_trained_model(
    run: Run, model_folder: Path, tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(model_folder, tmp_path / "hmm")
    monkeypatch.chdir(tmp_path)
    assert run("./hmm", tsv, "--layer", "0", "--device", "cpu")[0] == 0
    assert run("hmm", tsv, "--device", "cpu") == (0, LINKS, "")


def test_a_mistake_is_explained_in_one_line_and_nothing_is_written(
    run: Run, model_folder: Path, tsv: Path, tmp_path: Path
) -> None:
    empty, blank, uneven, wrong = (tmp_path / name for name in ("empty.tsv", "blank.tsv", "uneven", "wrong"))
    for path, text in ((empty, ""), (blank, "a\t\n\tb\n"), (uneven, "0-0\n"), (wrong, "0-0\n0-0\n\n7-0\n")):
        path.write_text(text, encoding="utf-8")
    out = tmp_path / "out.links"
    needs = "needs a trained model; hmm has no attention: leave it out"
    for arguments, message in (
        (("hmm", empty), "the file is empty"),
        (("hmm", blank), "blank.tsv: no pair to learn from; expected texts on both sides, of at most 500 words"),
        (("hmm", tmp_path / "none.tsv"), "no such file"),
        (("hmm", tsv, uneven), "expected the same number of lines"),
        (("hmm", tsv, "--gold", uneven), "1 lines of alignments for 4 pairs"),
        (("hmm", tsv, "--gold", wrong), "wrong:4: link 7-0 is out of range"),
        (("hmm", "task:phrasebook-en-fr", "--gold", uneven), "brings its own"),
        (("hmm", tsv, "--layer", "0"), f"--layer {needs}"),
        (("hmm", tsv, "--head", "0"), f"--head {needs}"),
        (("hmm", tsv, "--mean"), f"--mean {needs}"),
        (("hmm", tsv, "--best-head"), f"--best-head {needs}"),
        (("hmm", tsv, "--shift", "auto"), f"--shift {needs}"),
        (("hmm", tsv, "--valid", tsv), f"--valid {needs}"),
        (("hmm", tsv, "--entropy"), f"--entropy {needs}"),
        (("hmm", tsv, "--batch-tokens", "9"), f"--batch-tokens {needs}"),
        (("hmm", tsv, "--by", "piece"), "--by piece needs a trained model; hmm aligns words: leave it out"),
        (("hmm", tsv, "--with", "fr-en"), "hmm learns both directions itself: leave out fr-en"),
        (("hmm", tsv, "--device", "cuda"), "--device cuda: hmm runs on the CPU"),
        (("hmm", tsv, "--iterations", "0"), "--iterations must be from 1 to 1,000, got 0"),
        (("hmm", tsv, "--learn-from", empty), "empty.tsv:1: the file is empty"),
        (("hmm", tsv, "--learn-from-targets", tsv), "has no sources; give them by --learn-from"),
        (("hmm", tsv, "--symmetrise", "grow"), "--symmetrise must be intersection"),
        ((model_folder, tsv, "--learn-from", tsv), "--learn-from is for ibm1, ibm2 and hmm"),
        ((model_folder, tsv, "--iterations", "9"), "--iterations is for ibm1, ibm2 and hmm"),
    ):
        code, printed, err = run(*arguments, "--out", out)
        assert code == 2 and message in err and err.count("\n") == 1, (arguments, err)
        assert printed == "" and not list(tmp_path.glob("*out.links*"))


def test_an_interruption_leaves_no_file(run: Run, tsv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for place, name in ((Direction, "improve"), (Direction, "expect")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, interrupt)
            code, _, err = run("hmm", tsv, "--out", tmp_path / "out.links")
        assert code == 1 and err == "saccade: interrupted\n" and not list(tmp_path.glob("*out.links*"))
