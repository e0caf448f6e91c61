"""ROUGE by the rouge-score package, on words of any language."""

import sys

import pytest

from saccade.errors import UserError
from saccade.metrics import score

REFERENCE = "the quick brown fox jumps over the lazy dog"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(UserError, match=r"rouge2 needs rouge-score: pip install rouge-score"):
        score(["a"], ["a"], metrics=["rouge2"])


@pytest.mark.slow
def test_scores_equal_those_of_rouge_score() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    kinds = ["rouge1", "rouge2", "rougeL"]
    summary = "the fox jumps over a lazy brown dog"
    expected = RougeScorer(kinds).score(REFERENCE, summary)
    found = score([summary], [REFERENCE], metrics=kinds)
    for kind in kinds:
        assert found[kind] == pytest.approx(100 * expected[kind].fmeasure)


@pytest.mark.slow
def test_other_scripts_and_several_references() -> None:
    assert score(["我爱小狗。"], ["我爱小猫。"], metrics=["rouge1"])["rouge1"] == pytest.approx(75)
    assert score(["Élan"], [["autre", "élan."]], metrics=["rougeL"])["rougeL"] == pytest.approx(100)
