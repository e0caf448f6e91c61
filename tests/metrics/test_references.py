import pytest

from saccade.errors import UserError
from saccade.metrics import alternatives


def test_a_sentence_has_one_or_several_references() -> None:
    assert alternatives(["a", "b"]) == [("a",), ("b",)]
    assert alternatives([["a", "A"], ["b"]]) == [("a", "A"), ("b",)]


def test_a_sentence_without_a_reference_is_refused() -> None:
    with pytest.raises(UserError, match="sentence 1, counted from 0, has no reference"):
        alternatives([["a"], []])
