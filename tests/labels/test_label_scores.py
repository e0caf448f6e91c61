"""Accuracy and F1 of classes and of entities, by hand."""

import pytest

from saccade.errors import UserError
from saccade.labels import scores
from saccade.labels.scores import are_entities, measure_accuracy, score_classes, score_entities


def test_classes_by_hand() -> None:
    result = score_classes(["a", "a", "a", "b"], ["a", "a", "b", "c"])
    assert result.accuracy == 50 and result.labels == 4
    # a: precision 2/2, recall 2/3, F1 4/5; b: nothing is right; c: never right, and its recall counts 0
    assert result.by_label["a"].f1 == pytest.approx(80) and result.by_label["a"].count == 3
    assert (result.by_label["b"].f1, result.by_label["c"].precision) == (0, 0)
    assert result.f1 == pytest.approx(80 / 3)


def test_entities_by_hand() -> None:
    wanted = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"]]
    predicted = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "B-LOC"]]
    result = score_entities(wanted, predicted)
    # 3 entities, of which 2 are found; 4 are predicted: the first name is cut off, and one is no name.
    assert (result.precision, result.recall) == (50, pytest.approx(200 / 3))
    assert result.f1 == pytest.approx(100 * 2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))
    assert result.by_label["LOC"].f1 == 100 and result.by_label["PER"].f1 == 0
    assert result.accuracy == pytest.approx(100 * 4 / 6) and result.entities


def test_sentences_without_an_entity_score_zero() -> None:
    result = score_entities([["O", "O"]], [["O", "O"]])
    assert (result.f1, result.accuracy, result.by_label) == (0, 100, {})
    assert score_entities([["O"]], [["B-PER"]]).f1 == 0


def test_tags_of_entities_are_told_from_other_tags() -> None:
    assert are_entities(["O", "B-PER", "I-PER"]) and are_entities(["S-LOC", "E-LOC", "O"])
    assert not are_entities(["NOUN", "VERB"]) and not are_entities(["O"]) and not are_entities(["O", "B-PER", "X"])


def test_accuracy_of_nothing_is_zero() -> None:
    assert measure_accuracy([], []) == 0


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"^F1 needs scikit-learn and seqeval: pip install 'saccade\[labels\]'$"):
        score_classes(["a"], ["a"])
