"""Systems evaluated from Python: metrics chosen by the data, worst sentences, the report."""

from pathlib import Path

import pytest

from saccade.data import TextPair
from saccade.decode import Translator
from saccade.evaluation import choose_metrics, evaluate_systems
from saccade.evaluation.options import EvaluateOptions

WORDS = [("cat", "K AE T"), ("dog", "D AO G"), ("sleep", "S L IY P"), ("eat", "IY T")]


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_single_words_are_scored_by_word_and_phone_errors(tmp_path: Path) -> None:
    outputs = written(tmp_path / "out", "K AE T", "D AO K", "S L P", "IY T")
    result = evaluate_systems([outputs], WORDS, EvaluateOptions(resamples=0))
    scores = result.runs[0].evaluation.scores
    assert result.metrics == ["word_error", "phone_error", "cer", "exact"]
    assert scores["word_error"] == 100 - scores["exact"] == 50
    assert scores["phone_error"] == pytest.approx(100 * 2 / 12)  # a substitution and a deletion
    assert "unit:phone" in scores.measured["phone_error"].signature
    _, (columns, rows) = result.tables()[0]
    assert columns == ["", "out"] and rows[:2] == [["WER", "50.0"], ["PER", "16.7"]]
    assert result.to_dict()["systems"][0]["runs"][0]["word_error"] == 50


def test_the_data_choose_the_metrics() -> None:
    assert choose_metrics(["the cat", "dog"])[0] == "bleu" == choose_metrics([])[0]
    assert choose_metrics(["cat"] * 19 + ["the cat"])[0] == "word_error"


def test_the_worst_sentences_come_first(tmp_path: Path, pairs: list[TextPair]) -> None:
    texts = [pair.target for pair in pairs[:4]]
    texts[2], texts[1] = "x", texts[1] + " x"
    report = tmp_path / "report.html"
    options = EvaluateOptions(resamples=0, report=report)
    result = evaluate_systems([written(tmp_path / "out", *texts)], pairs[:4], options)
    assert result.worst[:2] == [2, 1]
    page = report.read_text(encoding="utf-8")
    assert page.index(pairs[2].source) < page.index(pairs[1].source) < page.index(pairs[0].source)
    assert "Worst sentences first" in page


def test_a_loaded_model_is_a_system(learnt: Translator, pairs: list[TextPair]) -> None:
    result = evaluate_systems([learnt], pairs[:3], EvaluateOptions(metrics="exact,chrf", resamples=0))
    (run,) = result.runs
    assert run.name == "the model" and run.evaluation.scores["exact"] == 100
    assert run.evaluation.behaviour.unread is not None and result.differences == []
