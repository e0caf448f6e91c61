"""`saccade export`: all of it is written, or nothing, and it is compared with PyTorch."""

import json
from pathlib import Path

import pytest

import saccade
from saccade.data import TextPair
from saccade.decode import Translator, save
from saccade.decode.engines import export as exporting
from saccade.errors import UserError
from saccade.model_folder import stored_digest
from saccade.trained_model import Model


@pytest.fixture
def folder(learnt: Translator, tmp_path: Path) -> Path:
    save(tmp_path / "model", learnt.model, learnt.vocabularies)
    return tmp_path / "model"


@pytest.fixture
def sources(pairs: list[TextPair], tmp_path: Path) -> Path:
    file = tmp_path / "sources.txt"
    file.write_text("".join(f"{pair.source}\n" for pair in pairs) + "\n", encoding="utf-8")
    return file


def test_an_export_translates_in_ctranslate2_alone(folder: Path, sources: Path, pairs: list[TextPair]) -> None:
    import ctranslate2

    written = saccade.load(folder, device="cpu").export(compare=sources)
    assert written.folder == folder / "ctranslate2"
    assert str(written) == f"{written.folder}: written; 100.0% of 8 translations are identical to those of PyTorch"
    record = json.loads((written.folder / "saccade.json").read_text(encoding="utf-8"))
    assert record["model_sha256"] == stored_digest(folder)
    assert (record["identical"], record["sentences"], record["int8"]) == (1.0, 8, False)
    pieces = saccade.load(folder, device="cpu").translator.vocabularies.source
    engine = ctranslate2.Translator(str(written.folder), device="cpu", intra_threads=1)
    (result,) = engine.translate_batch([[pieces.pieces[token] for token in pieces.encode(pairs[0].source)]])
    assert pieces.decode([pieces.pieces.index(piece) for piece in result.hypotheses[0]]) == pairs[0].target


def test_int8_weights_are_smaller(folder: Path, sources: Path, tmp_path: Path) -> None:
    model = saccade.load(folder, device="cpu")
    small = model.export(out=tmp_path / "small", int8=True, compare=sources)
    whole = model.export(out=tmp_path / "whole")
    assert small.record.int8 and small.record.identical is not None
    assert whole.record.identical is None and "--compare" in str(whole)
    assert (small.folder / "model.bin").stat().st_size < (whole.folder / "model.bin").stat().st_size


def test_another_export_replaces_the_first(folder: Path, sources: Path) -> None:
    model = saccade.load(folder, device="cpu")
    first = model.export()
    second = model.export(compare=sources, int8=True)
    assert first.folder == second.folder
    assert json.loads((second.folder / "saccade.json").read_text(encoding="utf-8"))["int8"] is True
    assert saccade.load(folder, device="cpu").translate(["it sleeps"])[0].text == "il dort"


def test_sentences_of_the_models_task_are_compared_by_default(folder: Path) -> None:
    (folder / "recipe.toml").write_text('[data]\npairs = "task:reverse"\n', encoding="utf-8")
    assert saccade.load(folder, device="cpu").export().record.sentences > 0
    for recipe in ('[data]\npairs = "/etc/passwd"\n', '[data]\npairs = "task:none"\n', "data = 3", "]"):
        (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
        assert saccade.load(folder, device="cpu").export().record.sentences == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_export_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException | type[BaseException]
) -> None:
    before = sorted(folder.rglob("*"))
    write = exporting.write_model

    def interrupted(new: Path, *arguments: object, **options: object) -> None:
        write(new, *arguments, **options)  # type: ignore[arg-type]
        raise error

    monkeypatch.setattr(exporting, "write_model", interrupted)
    with pytest.raises((KeyboardInterrupt, UserError)):
        saccade.load(folder, device="cpu").export()
    assert sorted(folder.rglob("*")) == before


def test_an_interrupted_export_keeps_the_one_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saccade.load(folder, device="cpu")
    model.export()
    before = {path: path.read_bytes() for path in (folder / "ctranslate2").iterdir()}

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exporting, "write_model", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.export(int8=True)
    assert {path: path.read_bytes() for path in (folder / "ctranslate2").iterdir()} == before


def test_what_cannot_be_exported_says_why(speller: Translator, learnt: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be exported to CTranslate2: Bahdanau2014 is not a Transformer"):
        Model(speller).export(out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="no folder of its own"):
        Model(learnt).export()


def test_mistakes_are_explained(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "blank.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(UserError, match=r"blank.txt: has no text; expected one source per line"):
        saccade.load(folder, device="cpu").export(compare=tmp_path / "blank.txt")
    monkeypatch.setattr(exporting, "why_not_installed", lambda: "the package ctranslate2 is not installed")
    with pytest.raises(UserError, match="--to ctranslate2: the package ctranslate2 is not installed"):
        saccade.load(folder, device="cpu").export()


def test_no_link_inside_the_export_is_written_through(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine", encoding="utf-8")
    (folder / "ctranslate2").mkdir()
    (folder / "ctranslate2" / "model.bin").symlink_to(tmp_path / "victim")
    with pytest.raises(UserError, match="symbolic link"):
        saccade.load(folder, device="cpu").export()
    assert (tmp_path / "victim").read_text(encoding="utf-8") == "mine"
    (folder / "ctranslate2" / "model.bin").unlink()
    (folder / "ctranslate2").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (folder / "ctranslate2").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="symbolic link"):
        saccade.load(folder, device="cpu").export()
    assert list((tmp_path / "elsewhere").iterdir()) == []
