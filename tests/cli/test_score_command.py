"""`saccade score`: one score per pair, JSON, totals, mistakes, and continuing after an interruption."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from running import Run

from saccade.data import TextPair
from saccade.decode import Translator, score_pairs
from saccade.journal import Journal


@pytest.fixture
def run(saccade: Run) -> Run:
    return partial(saccade, "score", "--device", "cpu")


@pytest.fixture
def tsv(tmp_path: Path, pairs: list[TextPair]) -> Path:
    path = tmp_path / "pairs.tsv"
    lines = [*(f"{pair.source}\t{pair.target}\n" for pair in pairs[:3]), "\n"]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_score_prints_one_number_per_line(
    run: Run, model_folder: Path, learnt: Translator, tsv: Path, pairs: list[TextPair]
) -> None:
    code, out, err = run(model_folder, tsv)
    expected = [*score_pairs(learnt, [*pairs[:3], ("", "")])]
    assert code == 0 and [float(line) for line in out.splitlines()] == pytest.approx(
        [score.log_prob for score in expected], abs=1e-4
    )
    assert err.startswith("4 pairs, ") and "perplexity" in err and "per word" in err
    means = run(model_folder, tsv, "--value", "mean")[1]
    assert [float(line) for line in means.splitlines()] == pytest.approx([score.mean for score in expected], abs=1e-4)


def test_score_passes_json_fields_through(run: Run, model_folder: Path, pairs: list[TextPair], tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "source": pair.source, "target": pair.target}) for n, pair in enumerate(pairs[:2])]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join([lines[0], "", lines[1]]) + "\n", encoding="utf-8")
    code, out, _ = run(model_folder, file, "--jsonl")
    first, blank, second = map(json.loads, out.splitlines())
    assert code == 0 and (first["id"], first["line"], second["id"], second["line"]) == (0, 1, 1, 3)
    assert blank["log_prob"] == 0 and blank["tokens"] == [] and "id" not in blank
    assert first["words"] == ["le", "chat", "dort"] and len(first["word_log_probs"]) == 3
    assert len(first["token_log_probs"]) == len(first["tokens"]) + 1
    file.write_text(f'{lines[0]}\n{{"source": "a", "target": "b", "mean": 3}}\n', encoding="utf-8")
    code, out, err = run(model_folder, file, "--jsonl")
    assert code == 2 and out == "" and f"{file}:2: has a field 'mean'" in err
    assert run(model_folder, file)[0] == 0  # numbers alone do not clash


def test_score_reads_two_files_and_tasks_with_an_ensemble(
    run: Run, model_folder: Path, tsv: Path, pairs: list[TextPair], tmp_path: Path
) -> None:
    alone = run(model_folder, tsv)[1].splitlines()
    for side in ("source", "target"):
        (tmp_path / side).write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs[:3]), encoding="utf-8")
    out, summary = tmp_path / "scores", tmp_path / "summary.json"
    code, shown, _ = run(
        model_folder,
        *(tmp_path / "source", tmp_path / "target", "--ensemble", model_folder, "--out", out, "--summary", summary),
    )
    assert code == 0 and shown == ""
    assert [*map(float, out.read_text().splitlines())] == pytest.approx([*map(float, alone[:3])], abs=1e-4)
    whole = json.loads(summary.read_text())
    assert whole["pairs"] == 3 and whole["log_prob"] == pytest.approx(sum(map(float, alone[:3])), abs=1e-3)
    code, out_, _ = run(model_folder, "task:phrasebook-en-fr", "--count", "3")
    assert code == 0 and len(out_.splitlines()) == 3


def test_score_explains_a_mistake_in_one_line(run: Run, model_folder: Path, tsv: Path, tmp_path: Path) -> None:
    tsv.write_text("the cat\tle chat\na dog\n", encoding="utf-8")
    out = tmp_path / "out"
    for arguments, message in (
        ((model_folder, tsv, "--out", out), f"{tsv}:2: 0 tabs in the line"),
        ((model_folder, tmp_path / "none.tsv"), "no such file"),
        ((model_folder, tsv, "--value", "bits"), "--value must be log-prob, mean or perplexity"),
        ((model_folder, tsv, "--tag", "<fr>"), "--tag <fr>: the tags that"),
        ((model_folder, tsv, "--out", tmp_path), "a folder"),
        ((tmp_path, tsv), "not a model folder"),
    ):
        code, shown, err = run(*arguments)
        assert code == 2 and shown == "" and message in err and err.count("\n") == 1
    assert not out.exists()


def test_interrupted_score_continues_to_the_same_output_and_summary(
    run: Run, model_folder: Path, pairs: list[TextPair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out, summary = (tmp_path / name for name in ("pairs.jsonl", "scores", "summary.json"))
    lines = [{"id": number, "source": pair.source, "target": pair.target} for number, pair in enumerate(pairs)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    command = (model_folder, file, "--jsonl", "--chunk", "3", "--out", out, "--summary", summary)
    assert run(*command)[0] == 0
    whole, total = out.read_bytes(), summary.read_bytes()
    out.unlink()
    commit, commits = Journal.commit, []

    def interrupt(journal: Journal, *arguments: Any) -> None:
        commit(journal, *arguments)
        commits.append(journal.lines)
        if len(commits) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "commit", interrupt)
        code, _, err = run(*command)
    assert code == 1 and commits == [3, 6] and "6 lines finished and saved in" in err
    code, _, err = run(*command, "--value", "mean")
    assert code == 2 and "--value was log-prob, is mean" in err
    code, _, err = run(*command)
    assert code == 0 and "continuing after 6 lines" in err
    assert out.read_bytes() == whole and summary.read_bytes() == total
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.jsonl", "scores", "summary.json"]
