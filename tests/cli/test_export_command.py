"""`saccade export`, and the engines of `saccade translate`."""

import json
from pathlib import Path

import pytest
from running import Run

from saccade.data import TextPair
from saccade.decode import Translator, save
from saccade.decode.engines import choice


@pytest.fixture
def folder(learnt: Translator, tmp_path: Path) -> Path:
    save(tmp_path / "model", learnt.model, learnt.vocabularies)
    return tmp_path / "model"


@pytest.fixture
def sources(pairs: list[TextPair], tmp_path: Path) -> Path:
    file = tmp_path / "in.txt"
    file.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    return file


def test_export_reports_the_share_of_identical_translations(run: Run, folder: Path, sources: Path) -> None:
    done = run("export", folder, "--to", "ctranslate2", "--compare", sources)
    assert done.code == 0, done
    assert done.out == f"{folder}/ctranslate2: written; 100.0% of 8 translations are identical to those of PyTorch\n"
    assert (folder / "ctranslate2" / "model.bin").exists()


def test_export_refuses_in_one_line(run: Run, speller_folder: Path, folder: Path) -> None:
    done = run("export", speller_folder)
    assert done.code == 2 and done.err.count("\n") == 1 and "not a Transformer" in done.err
    done = run("export", folder, "--to", "onnx")
    assert done.code == 2 and "ctranslate2" in done.err


def test_every_engine_translates_alike(run: Run, folder: Path, sources: Path, pairs: list[TextPair]) -> None:
    expected = "".join(f"{pair.target}\n" for pair in pairs)
    for options in ([], ["--engine", "auto"], ["--engine", "torch"], ["--engine", "ctranslate2"]):
        assert run("translate", folder, sources, "--device", "cpu", *options).out == expected, options
    assert run("translate", folder, sources, "--device", "cpu", "--int8").out.count("\n") == len(pairs)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--engine", "ctranslate2", "--sample"], "--engine ctranslate2: sampling"),
        (["--engine", "ctranslate2", "--include", "chat"], "--engine ctranslate2: CTranslate2 has no constraints"),
        (["--int8", "--groups", "5"], "--int8: CTranslate2 has no diverse beam"),
        (["--int8", "--engine", "torch"], "--int8 is for CTranslate2"),
        (["--engine", "onnx"], "--engine"),
    ],
)
def test_an_impossible_engine_is_refused_in_one_line(
    run: Run, folder: Path, sources: Path, options: list[str], reason: str
) -> None:
    done = run("translate", folder, sources, "--device", "cpu", *options)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1 and reason in done.err


def test_an_ensemble_uses_torch(run: Run, folder: Path, sources: Path) -> None:
    assert run("translate", folder, sources, "--device", "cpu", "--ensemble", folder).code == 0
    done = run("translate", folder, sources, "--device", "cpu", "--ensemble", folder, "--engine", "ctranslate2")
    assert done.code == 2 and "Ensemble is not a Transformer" in done.err


def test_without_the_package_torch_translates(
    run: Run, folder: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = "the package ctranslate2 is not installed: pip install 'saccade[ctranslate2]'"
    monkeypatch.setattr(choice, "why_not_installed", lambda: missing)
    assert run("translate", folder, sources, "--device", "cpu").code == 0
    done = run("translate", folder, sources, "--device", "cpu", "--engine", "ctranslate2")
    assert done.code == 2 and done.err.startswith(f"saccade: --engine ctranslate2: {missing}")


def test_json_has_scores_and_alignments_of_every_engine(run: Run, folder: Path, sources: Path) -> None:
    fast, plain = (
        run("translate", folder, sources, "--device", "cpu", "--jsonl", "--engine", engine).out
        for engine in ("ctranslate2", "torch")
    )
    for one, other in zip(fast.splitlines(), plain.splitlines(), strict=True):
        values, expected = json.loads(one), json.loads(other)
        assert values["text"] == expected["text"] and values["alignment"] == expected["alignment"]
        assert values["token_log_probs"] == pytest.approx(expected["token_log_probs"], abs=1e-3)
