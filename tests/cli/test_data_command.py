"""`saccade data`: describe a corpus and clean it, without training."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from saccade.cli.commands import app
from saccade.errors import UserError

LINES = "the dog\tle chien\nthe dog\tle chien\nOK\tOK\na b c d e f g h\toui non\n\tx\nthe cat\tle chat\n"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text(LINES, encoding="utf-8")
    return path


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["data", *map(str, arguments)])
    if isinstance(done.exception, UserError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_data_describes_the_pairs_and_the_effect_of_cleaning(pairs: Path) -> None:
    text = run(pairs)
    assert text.startswith(f"{pairs}: 6 pairs\nsource: ") and "scripts: Latin 100.0%" in text
    assert "--clean all: kept 2 of 6 pairs\n  left out 1 with an empty side (line 5)\n" in text
    assert "  left out 1 with more than 3.0 times as many words on one side (line 4)" in text
    assert "  left out 1 repeated (line 2)" in text


def test_data_writes_the_remaining_pairs(pairs: Path, tmp_path: Path) -> None:
    text = run(pairs, "--clean", "duplicates", "--clean", "ratio=3.5", "--out", tmp_path / "clean.tsv")
    assert "kept 3 of 6 pairs" in text
    assert (tmp_path / "clean.tsv").read_text() == "the dog\tle chien\nOK\tOK\nthe cat\tle chat\n"
    assert "kept 3 of 3 pairs" in run(tmp_path / "clean.tsv", "--clean", "duplicates", "--clean", "ratio=3.5")


def test_data_converts_between_formats(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"en": "a\\tb", "fr": "c\\nd"}\n{"en": "e", "fr": "f"}\n')
    run(tmp_path / "a.jsonl", "--fields", "en,fr", "--out", tmp_path / "b.jsonl")
    assert json.loads((tmp_path / "b.jsonl").read_text().splitlines()[0]) == {"source": "a\tb", "target": "c\nd"}
    run(tmp_path / "b.jsonl", "--out", tmp_path / "c.tsv")
    assert (tmp_path / "c.tsv").read_text() == "a b\tc d\ne\tf\n"


def test_data_prints_json(pairs: Path, model_folder: Path) -> None:
    report = json.loads(run(pairs, "--clean", "identical", "--vocab-from", model_folder, "--json"))
    assert (report["count"], report["kept"]) == (6, 4)
    assert report["left_out"] == [
        {"why": "with an empty side", "pairs": 1, "first": [5]},
        {"why": "with two identical sides", "pairs": 1, "first": [3]},
    ]
    assert report["source"]["spelling"]["pieces_per_word"] >= 1 and report["cleaning"]["identical"] is True


def test_data_reads_standard_input_and_tasks(pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saccade.train.corpus_report.TASK_PAIRS", 50)
    assert run("task:phrasebook-en-fr").startswith("task:phrasebook-en-fr: 50 pairs")
    done = CliRunner().invoke(app, ["data", "-"], input=LINES)
    assert done.exit_code == 0 and done.stdout.startswith("-: 6 pairs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clean", "rato=3"], r"--clean: rato: unknown key; did you mean 'ratio'\?"),
        (["--clean", "ratio=0.5"], "--clean: ratio: 0.5 given, expected a number at least 1"),
        (["--fields", "en"], "--fields en: expected two"),
        (["--vocab-from", "nowhere"], "not found; expected a model's folder"),
    ],
)
def test_data_explains_a_mistake(arguments: list[str], message: str, pairs: Path) -> None:
    with pytest.raises(UserError, match=message):
        run(pairs, *arguments)
