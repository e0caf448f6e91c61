"""Segmentations of a text into tokens, word boundaries, and the progress of outlines."""

import math
from itertools import product

import pytest
from brute_force import PIECES, SURFACES, Spelled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.decode.constraints.outline import Outline, TokenBytes, contains_phrase, is_settled, is_word_boundary
from saccade.text import EOS, Placeholders, Policy, Vocabularies, word_spans
from saccade.text.tokeniser import SYMBOLS

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(data=st.data(), reverse=st.booleans())
def test_bytes_are_decoded_as_by_the_tokeniser(vocabularies: Vocabularies, data: st.DataObject, reverse: bool) -> None:
    tokeniser = vocabularies.towards(right_to_left=reverse).target
    ids = data.draw(st.lists(st.integers(4, len(tokeniser) - 1), max_size=8))
    token_bytes = TokenBytes(tokeniser)
    line = token_bytes.decode(b"".join(token_bytes.surfaces[piece] for piece in ids), whole=True)
    assert (line[::-1] if reverse else line) == tokeniser.decode(ids)


@quick
@given(text=st.text("le chat黑房子ß▁ -", max_size=9), reverse=st.booleans())
def test_encoded_text_is_a_segmentation(vocabularies: Vocabularies, text: str, reverse: bool) -> None:
    tokeniser = vocabularies.towards(right_to_left=reverse).target
    token_bytes, ids = TokenBytes(tokeniser), tokeniser.encode(text)
    written = b"".join(token_bytes.surfaces[piece] for piece in ids)
    line = token_bytes.line(text)
    if ids:
        assert written == token_bytes.encode(
            line + token_bytes.text_prefix if reverse else token_bytes.text_prefix + line
        )
        segmentations = token_bytes.segmentations(written)
        assert segmentations.fewest[0] <= len(ids)
        at = 0
        for piece in ids:
            assert piece in segmentations.all_next(at)
            at += len(token_bytes.surfaces[piece])
    assert token_bytes.decode(written, whole=True) == line


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("text", ["a", " a", "ab a", " aab", "b  a", "c"])
def test_segmentations_equal_those_of_brute_force(text: str, reverse: bool) -> None:
    token_bytes = Spelled(reverse).token_bytes
    target = token_bytes.encode(token_bytes.line(text))
    segmentations = token_bytes.segmentations(target)
    surfaces = {piece: SURFACES[piece].replace("▁", " ") for piece in PIECES[1:]}
    ways = [
        way
        for length in range(len(text) + 1)
        for way in product(surfaces, repeat=length)
        if "".join(surfaces[piece] for piece in (way[::-1] if reverse else way)) == text
    ]
    assert segmentations.fewest[0] == min(map(len, ways), default=math.inf)
    assert set(segmentations.shortest(0)) == {way[0] for way in ways if len(way) == segmentations.fewest[0]}
    assert {way[0] for way in ways} <= set(segmentations.all_next(0))
    assert segmentations.all_next(len(target)) == [EOS]


def test_placeholders_write_their_text(vocabularies: Vocabularies) -> None:
    pairs = [type("Pair", (), {"source": f"the cat {n}", "target": f"le chat {n}"})() for n in range(40)]
    with_symbols = Vocabularies.train(pairs, Policy(kind="bpe", size=310), placeholders=Placeholders(("number",)))
    plain = TokenBytes(with_symbols.target)
    shown = plain.with_placeholders({SYMBOLS[0]: "42 ▁"})
    assert plain.with_placeholders(None) is plain
    (symbol,) = plain.tokens_of(SYMBOLS[0].encode())
    assert shown.tokens_of(shown.encode("42 ▁")) == [symbol] and plain.surfaces[symbol] == SYMBOLS[0].encode()
    assert shown.decode(shown.surfaces[symbol], whole=True) == "42 ▁"
    (other,) = plain.tokens_of(SYMBOLS[1].encode())
    assert shown.surfaces[other] == b"" and not shown.tokens_of(SYMBOLS[1].encode())


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
def test_word_boundaries_are_the_same_in_both_directions(line: str) -> None:
    inside = {place for start, end in word_spans(line) for place in range(start + 1, end)}
    for at in range(len(line) + 1):
        assert is_word_boundary(line, at, reverse=False) == (at not in inside)
        assert is_word_boundary(line[::-1], len(line) - at, reverse=True) == (at not in inside)


@settings(deadline=None, max_examples=300)
@given(
    word=st.text("abl'黑", min_size=1, max_size=2),
    after=st.text("al黑 -.'\u0301,", max_size=3),
    later=st.text("al黑 -.'\u0301,", max_size=2),
    reverse=st.booleans(),
)
def test_a_settled_boundary_never_changes(word: str, after: str, later: str, reverse: bool) -> None:
    if is_settled(after):
        assert is_word_boundary(word + after, len(word), reverse=reverse) == is_word_boundary(
            word + after + later, len(word), reverse=reverse
        )
        assert not contains_phrase(word + after, word, reverse=reverse, whole=False) or contains_phrase(
            word + after + later, word, reverse=reverse, whole=True
        )


def test_progress_of_an_outline_by_hand() -> None:
    token_bytes = Spelled().token_bytes
    outline = Outline.from_parts("a … b", ["a ", " b"], token_bytes)

    def progress(text: str) -> tuple[bool, float, float, bool]:
        state = outline.progress(text.encode())
        return state.is_met, state.needed, state.begun, state.must_wait

    assert outline.fewest == 1 + 2  # "▁a", then "▁" and "b"
    assert progress("") == (False, 3, 0, False)
    assert progress(" a") == (False, 3, 1, True)  # the word may go on
    assert progress(" a ") == (False, 2, 1, True)  # the space of " b" is there
    assert progress(" ab") == (False, 3, 0, False)
    assert progress(" a b") == (True, 2, 0, False)  # what must stand last is undone by whatever follows
    assert progress(" a ba")[0] is False and progress(" a b a b")[0]
    assert sorted(outline.allowed(b"") or []) == [4, 5, 7] and outline.allowed(b" a") is None
    assert outline.is_broken(b" b") and outline.is_broken(b" ab") and not outline.is_broken(b" a b")
