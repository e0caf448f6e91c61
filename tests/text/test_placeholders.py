"""Protected spans are symbols to the model and unchanged to people."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.text import Placeholders
from saccade.text.tokeniser import SYMBOLS
from saccade.text.vocabularies import KINDS

ALL = Placeholders((*KINDS, r"\{\w+\}"))

SPANS = ["<x1>", "</b>", '<a href="u">', "https://a.b/c?d=1", "www.x.org", "me@x.org", "3.14", "12:30", "{name}", "7"]
texts = st.lists(st.sampled_from([*SPANS, "the", " ", ", ", "été", ".", SYMBOLS[3], "<", "@"]), max_size=14).map(
    "".join
)


@settings(deadline=None, max_examples=60)
@given(texts)
def test_a_masked_text_is_restored(text: str) -> None:
    masked = ALL.mask(text)
    assert masked.restore(masked.text) == text
    assert masked.notes(masked.text) == ()
    assert len(masked.shown or {}) == sum(masked.text.count(symbol) for symbol in SYMBOLS)
    assert not any(ALL._expression.spans(masked.text.translate(dict.fromkeys(map(ord, SYMBOLS), " "))))


@settings(deadline=None, max_examples=60)
@given(texts, texts)
def test_a_pair_has_the_same_symbols_on_both_sides(source: str, target: str) -> None:
    left, right = ALL.mask_pair(source, target)
    assert left.shown == right.shown
    if SYMBOLS[3] not in source + target:  # which would stay where it has no counterpart
        assert (left.restore(left.text), right.restore(right.text)) == (source, target)
        for symbol in SYMBOLS:
            assert left.text.count(symbol) == right.text.count(symbol) == (symbol in (left.shown or {}))


def test_masked_texts_are_as_worked_out_by_hand() -> None:
    left, right = Placeholders(("markup", "number")).mask_pair(
        "see <x1>page 12</x1>, 12 of 3", "12 Seite <x1>12</x1> drei"
    )
    assert left.shown is not None
    one, two, three, four = left.shown
    assert list(left.shown.values()) == ["<x1>", "12", "</x1>", "12"]
    assert left.text == f"see {one}page {two}{three}, {four} of 3"
    assert right.text == f"{two} Seite {one}{four}{three} drei"


@pytest.mark.parametrize(
    ("kind", "text", "spans"),
    [
        ("url", "see https://a.org/b_(c), or www.x.de.", ["https://a.org/b_(c", "www.x.de"]),
        ("email", "ask me.too+1@mail.example.org, now", ["me.too+1@mail.example.org"]),
        ("number", "at 12:30 pay 1,000.50 or 7.", ["12:30", "1,000.50", "7"]),
        ("markup", "a < b <x1> <br/> </p> <3", ["<x1>", "<br/>", "</p>"]),
        (r"%\w", "give %s and %d", ["%s", "%d"]),
    ],
)
def test_each_kind_matches_its_spans(kind: str, text: str, spans: list[str]) -> None:
    assert list((Placeholders((kind,)).mask(text).shown or {}).values()) == spans


def test_missing_and_unknown_symbols_are_reported_and_never_shown() -> None:
    masked = ALL.mask("call 112 or 911")
    assert masked.shown is not None
    _, second = masked.shown
    other = next(symbol for symbol in SYMBOLS if symbol not in masked.shown)
    written = f"appelez {second} {other}"
    assert masked.restore(written) == "appelez 911 "
    assert masked.notes(written) == (
        "'112' is not in the translation",
        "dropped 1 placeholder that the source does not have",
    )


def test_all_symbols_are_used_equally_often() -> None:
    used = {next(iter(ALL.mask(f"number {n}").shown or {})) for n in range(200)}
    assert used == set(SYMBOLS)
    many = ALL.mask(" ".join(map(str, range(30))))
    assert len(many.shown or {}) == len(SYMBOLS) and many.text.endswith("16 17 18 19 20 21 22 23 24 25 26 27 28 29")


@pytest.mark.parametrize(
    ("kind", "message"),
    [("urls", "did you mean 'url'"), ("(", "not a regular expression"), ("a*", "matches the empty text")],
)
def test_a_wrong_kind_is_refused(kind: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Placeholders((kind,))
