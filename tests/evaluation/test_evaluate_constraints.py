import pytest

from saccade.errors import UserError
from saccade.evaluation.breakdowns import by_constraint, count_phrase


def test_phrases_match_word_for_word() -> None:
    assert count_phrase(["a", "a"], ["a", "a", "a"]) == 2
    assert count_phrase(["chat", "dort"], ["chat", "noir", "dort"]) == 0
    assert count_phrase(["a", "b"], ["a"]) == 0


def test_the_share_of_met_constraints() -> None:
    scores = by_constraint(
        ["le chat noir dort", "un chien mange", "il dort", "rien"],
        include=[["chat noir", "dort."], ["chien"], [], []],
        exclude=[["chien"], ["mange", "chat"], ["arrive"], []],
    )
    assert (scores.include, scores.included, scores.exclude, scores.excluded) == (3, 2, 4, 3)
    assert (scores.sentences, scores.satisfied) == (3, 1)
    assert scores.share == pytest.approx(5 / 7)


def test_parts_of_words_do_not_count() -> None:
    assert by_constraint(["il arrive"], [["rive"]]).included == 0
    assert by_constraint(["il arrive"], exclude=[["rive"]]).excluded == 1


def test_there_is_no_share_without_constraints() -> None:
    assert by_constraint(["a"], [[]]).share is None


def test_uneven_lists_are_refused() -> None:
    with pytest.raises(UserError, match="1 hypotheses and 2 include"):
        by_constraint(["a"], [["a"], ["b"]])
