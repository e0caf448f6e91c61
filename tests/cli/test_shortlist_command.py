"""`saccade shortlist`, and `saccade translate --shortlist`."""

import json
from pathlib import Path

import pytest
from running import Run

from saccade.data import TextPair
from saccade.decode import Translator, save


@pytest.fixture
def folder(learnt: Translator, tmp_path: Path) -> Path:
    save(tmp_path / "model", learnt.model, learnt.vocabularies)
    return tmp_path / "model"


@pytest.fixture
def files(pairs: list[TextPair], tmp_path: Path) -> tuple[Path, Path]:
    sides = tmp_path / "sources.txt", tmp_path / "targets.txt"
    for file, texts in zip(sides, zip(*pairs, strict=True), strict=True):
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return sides


def test_a_shortlist_is_made_from_two_files_and_used(
    run: Run, folder: Path, files: tuple[Path, Path], pairs: list[TextPair]
) -> None:
    done = run("shortlist", folder, *files, "--compare", files[0], "--best", "20", "--frequent", "9", "--device", "cpu")
    assert done.code == 0 and done.out.startswith(
        f"{folder}/shortlist.safetensors: written, from 8 pairs; 100.0% of 8 "
    )
    done = run("translate", folder, files[0], "--shortlist", "--device", "cpu", "--explain")
    assert done.out == "".join(f"{pair.target}\n" for pair in pairs)
    assert "CTranslate2: no, CTranslate2 has no shortlist for each sentence" in done.err
    assert "scores for a shortlist of tokens: yes" in done.err


def test_json_is_for_programs(run: Run, folder: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the cat sleeps\tle chat dort\n", encoding="utf-8")
    found = json.loads(run("shortlist", folder, pairs, "--json", "--device", "cpu").out)
    assert found["file"] == f"{folder}/shortlist.safetensors" and found["pairs"] == 1 and found["identical"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shortlist"], "--shortlist: the model has none; make it with `saccade shortlist MODEL PAIRS`"),
        (["--shortlist", "--engine", "ctranslate2"], "--engine ctranslate2: CTranslate2 has no shortlist"),
    ],
)
def test_translate_refuses_in_one_line(
    run: Run, folder: Path, files: tuple[Path, Path], options: list[str], message: str
) -> None:
    out = folder.parent / "out.txt"
    done = run("translate", folder, files[0], "--device", "cpu", "--out", out, *options)
    assert done.code == 2 and done.err.count("\n") == 1 and message in done.err
    assert not list(folder.parent.glob("out.txt*"))


def test_an_ensemble_has_none(run: Run, folder: Path, files: tuple[Path, Path]) -> None:
    done = run("translate", folder, files[0], "--device", "cpu", "--shortlist", "--ensemble", folder)
    assert done.code == 2 and "--shortlist: the logits of Ensemble" in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--best", "0"], "--best must be from 1 to 1,000"),
        (["--compare", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_mistakes_are_one_line(
    run: Run, folder: Path, files: tuple[Path, Path], arguments: list[str], message: str
) -> None:
    done = run("shortlist", folder, *files, *arguments, "--device", "cpu")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1
    assert not (folder / "shortlist.safetensors").exists()
