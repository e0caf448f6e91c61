"""Texts in pieces: what a lexicon reads is what decoding gives, every spelling is found, and words are whole."""

import math
from itertools import product

import pytest
from brute_force import PIECES, SURFACES, Spelled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.decode.constraints.outline import Outline, apart, settled, stands
from saccade.decode.constraints.segmentations import TokenBytes
from saccade.text import EOS, Placeholders, Policy, Vocabularies, word_spans
from saccade.text.placeholders import SYMBOLS

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(data=st.data(), turned=st.booleans())
def test_what_is_read_is_what_decoding_gives(vocabularies: Vocabularies, data: st.DataObject, turned: bool) -> None:
    tokeniser = vocabularies.towards(right_to_left=turned).target
    ids = data.draw(st.lists(st.integers(4, len(tokeniser) - 1), max_size=8))
    lexicon = TokenBytes(tokeniser)
    line = lexicon.read(b"".join(lexicon.surfaces[piece] for piece in ids), whole=True)
    assert (line[::-1] if turned else line) == tokeniser.decode(ids)


@quick
@given(text=st.text("le chat黑房子ß▁ -", max_size=9), turned=st.booleans())
def test_what_is_encoded_is_a_spelling(vocabularies: Vocabularies, text: str, turned: bool) -> None:
    tokeniser = vocabularies.towards(right_to_left=turned).target
    lexicon, ids = TokenBytes(tokeniser), tokeniser.encode(text)
    written = b"".join(lexicon.surfaces[piece] for piece in ids)
    line = lexicon.line(text)
    if ids:
        assert written == lexicon.written(line + lexicon.before if turned else lexicon.before + line)
        spelling = lexicon.spelling(written)
        assert spelling.least[0] <= len(ids)
        at = 0
        for piece in ids:
            assert piece in spelling.every(at)
            at += len(lexicon.surfaces[piece])
    assert lexicon.read(written, whole=True) == line


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("text", ["a", " a", "ab a", " aab", "b  a", "c"])
def test_spellings_against_all_that_can_be_written(text: str, turned: bool) -> None:
    lexicon = Spelled(turned).lexicon
    target = lexicon.written(lexicon.line(text))
    spelling = lexicon.spelling(target)
    surfaces = {piece: SURFACES[piece].replace("▁", " ") for piece in PIECES[1:]}
    ways = [
        way
        for length in range(len(text) + 1)
        for way in product(surfaces, repeat=length)
        if "".join(surfaces[piece] for piece in (way[::-1] if turned else way)) == text
    ]
    assert spelling.least[0] == min(map(len, ways), default=math.inf)
    assert set(spelling.soonest(0)) == {way[0] for way in ways if len(way) == spelling.least[0]}
    assert {way[0] for way in ways} <= set(spelling.every(0))
    assert spelling.every(len(target)) == [EOS]


def test_symbols_write_what_is_shown(vocabularies: Vocabularies) -> None:
    pairs = [type("Pair", (), {"source": f"the cat {n}", "target": f"le chat {n}"})() for n in range(40)]
    with_symbols = Vocabularies.train(pairs, Policy(kind="bpe", size=310), placeholders=Placeholders(("number",)))
    plain = TokenBytes(with_symbols.target)
    shown = plain.showing({SYMBOLS[0]: "42 ▁"})
    assert plain.showing(None) is plain
    (symbol,) = plain.exactly(SYMBOLS[0].encode())
    assert shown.exactly(shown.written("42 ▁")) == [symbol] and plain.surfaces[symbol] == SYMBOLS[0].encode()
    assert shown.read(shown.surfaces[symbol], whole=True) == "42 ▁"
    (other,) = plain.exactly(SYMBOLS[1].encode())
    assert shown.surfaces[other] == b"" and not shown.exactly(SYMBOLS[1].encode())


LINES = [
    "le chat-huant dort",
    "l'homme",
    "3.5 kg",
    "chat.",
    "黑房子",
    "e\u0301te\u0301",
    "a - b",
    "a. b",
    "x" * 90 + " y",
]


@pytest.mark.parametrize("line", LINES)
def test_words_are_told_apart_from_both_sides(line: str) -> None:
    inside = {place for start, end in word_spans(line) for place in range(start + 1, end)}
    for at in range(len(line) + 1):
        assert apart(line, at, turned=False) == (at not in inside)
        assert apart(line[::-1], len(line) - at, turned=True) == (at not in inside)


@settings(deadline=None, max_examples=300)
@given(
    word=st.text("ab黑", min_size=1, max_size=2),
    after=st.text("a黑 -.'\u0301,", max_size=3),
    later=st.text("a黑 -.'\u0301,", max_size=2),
    turned=st.booleans(),
)
def test_what_is_settled_stays(word: str, after: str, later: str, turned: bool) -> None:
    if settled(after):
        assert apart(word + after, len(word), turned=turned) == apart(word + after + later, len(word), turned=turned)
        assert not stands(word + after, word, turned=turned, whole=False) or stands(
            word + after + later, word, turned=turned, whole=True
        )


def test_an_outline_by_hand() -> None:
    lexicon = Spelled().lexicon
    outline = Outline.of("a … b", ["a ", " b"], lexicon)

    def progress(text: str) -> tuple[bool, float, float, bool]:
        found = outline.progress(text.encode())
        return found.holds, found.needed, found.begun, found.waits

    assert outline.least == 1 + 2  # "▁a", then "▁" and "b"
    assert progress("") == (False, 3, 0, False)
    assert progress(" a") == (False, 3, 1, True)  # the word may go on
    assert progress(" a ") == (False, 2, 1, True)  # the space of " b" is there
    assert progress(" ab") == (False, 3, 0, False)
    assert progress(" a b") == (True, 2, 0, False)  # what must stand last is undone by whatever follows
    assert progress(" a ba")[0] is False and progress(" a b a b")[0]
    assert sorted(outline.allowed(b"") or []) == [4, 5, 7] and outline.allowed(b" a") is None
    assert outline.broken(b" b") and outline.broken(b" ab") and not outline.broken(b" a b")
