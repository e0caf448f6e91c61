import pytest

from saccade.errors import UserError
from saccade.evaluate.references import alternatives, streams


def test_one_or_several_references_a_sentence() -> None:
    assert alternatives(["a", "b"]) == [("a",), ("b",)]
    assert alternatives([["a", "A"], ["b"]]) == [("a", "A"), ("b",)]
    assert streams(["a", "b"]) == [["a", "b"]]
    assert streams([["a", "A"], ["b"]]) == [["a", "b"], ["A", None]]


def test_a_sentence_without_a_reference_is_refused() -> None:
    with pytest.raises(UserError, match="sentence 1, counted from 0, has no reference"):
        alternatives([["a"], []])
