"""Untrusted expressions: the meaning they have in Python, linear time, and one line for what is not supported."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.text.regex import Expression
from saccade.text.vocabularies import KINDS

EVERYWHERE = "".join(chr(place) for place in range(0x3100))  # as many scripts as all versions of Unicode agree on
OF_PYTHON = [
    *KINDS.values(),
    r"\w+",
    r"\W",
    r"\d",
    r"\D+",
    r"\s",
    r"\S+",
    r"[\w.]+",
    r"[^\s\d]+",
    r"[]\w]",
    r"[^]\d]",
    r"\\w",
]


def spans(expression: str, text: str) -> list[tuple[int, int]]:
    return list(Expression(expression).spans(text))


@pytest.mark.parametrize("expression", OF_PYTHON)
def test_character_classes_are_the_same_as_in_python(expression: str) -> None:
    """Every letter is compared, except those that only one of the two engines knows yet."""
    ours = Expression(expression)
    for text in (letter for letter in EVERYWHERE[::3] if letter.isprintable() or letter.isspace()):
        expected = [match.span() for match in re.finditer(expression, text)]
        assert list(ours.spans(text)) == expected, hex(ord(text))


@settings(deadline=None, max_examples=60)
@given(st.text(st.sampled_from("aé黑1٣.,:@<>/ x\u2003\ud800-+_w"), max_size=30))
def test_the_built_in_kinds_match_as_in_python(text: str) -> None:
    for expression in KINDS.values():
        assert spans(expression, text) == [match.span() for match in re.finditer(expression, text)]


@pytest.mark.parametrize(
    "expression", ["(a+)+b", "(a|aa)+b", "(a|a)*b", "(?:a?){50}a{50}b", "([a-z]+)*1", KINDS["email"]]
)
def test_no_expression_takes_long(expression: str) -> None:
    """A backtracking engine would need years for most of these."""
    assert spans(expression, "a" * 30_000) == []


def test_an_empty_match_is_not_a_span() -> None:
    assert spans(r"\b", "a word") == [] and spans("x*", "axa") == [(1, 2)]
    assert Expression("x*").matches_nothing() and not Expression("x").matches_nothing()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("(?=a)b", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("(", "missing"),
        ("(" * 5000, "not a regular expression"),
        ("((a{1000}){1000}){1000}", "invalid repetition size"),
        ("a" * 20_000, "20,000 characters; expected at most"),
        (r"[\W]", "inside brackets is not supported"),
        ("\ud800", "codec can.t encode"),
    ],
)
def test_an_unsupported_expression_is_refused_in_one_line(
    expression: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=message) as raised:
        Expression(expression)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    assert capfd.readouterr() == ("", "")  # RE2 itself would write to standard error
