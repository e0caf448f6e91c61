"""A target from right to left has the same tokens and words, and its ids in reverse order."""

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import TextPair
from saccade.errors import UserError
from saccade.text import Policy, Tokeniser, Vocabularies
from saccade.text.tokeniser import Kind

LINES = ["The old dog sleeps near the bank.", "Le vieux chien dort près de la rive.", "老狗睡在河岸边。"] * 5
KINDS: tuple[Kind, ...] = ("unigram", "bpe", "char", "word")
FORWARDS = {kind: Tokeniser.train(LINES, kind=kind, size=360, tags=["<fr>"]) for kind in KINDS}
LOSSY = {kind: Tokeniser.train(LINES, kind=kind, size=100, byte_fallback=False) for kind in KINDS}
PAIRS = [TextPair("the dog sleeps", "le chien dort"), TextPair("the child reads", "l'enfant lit")] * 5

kinds = st.sampled_from(KINDS)
lines = st.one_of(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
    st.lists(st.sampled_from(["the", " ", "▁", "dog", "狗", "👍🏽", "é", ".", "<fr> "])).map("".join),
)


@settings(deadline=None, max_examples=150)
@given(kinds, lines, st.booleans())
def test_any_line_is_encoded_from_right_to_left_without_loss(kind: Kind, line: str, lossy: bool) -> None:
    forwards = (LOSSY if lossy else FORWARDS)[kind]
    backwards = forwards.reversed()
    ids, spans, text = forwards.encode_with_spans(line)
    assert backwards.encode(line) == ids[::-1]
    assert backwards.encode_with_spans(line) == (ids[::-1], spans[::-1], text)
    assert backwards.decode(ids[::-1]) == forwards.decode(ids)
    assert lossy or backwards.decode(backwards.encode(line)) == line


@settings(deadline=None, max_examples=100)
@given(kinds, st.lists(st.integers(0, 350)))
def test_any_ids_decode_to_the_words_of_their_text(kind: Kind, ids: list[int]) -> None:
    forwards = FORWARDS[kind]
    ids = [i for i in ids if i < len(forwards)]
    text, spans = forwards.decode_with_spans(ids)
    assert forwards.reversed().decode_with_spans(ids[::-1]) == (text, spans[::-1])


def test_a_sampled_segmentation_has_the_same_order() -> None:
    backwards = FORWARDS["bpe"].reversed()
    ids = backwards.sample("The old dog sleeps.", Random(1), 0.5)
    assert ids == FORWARDS["bpe"].sample("The old dog sleeps.", Random(1), 0.5)[::-1]
    assert backwards.decode(ids) == "The old dog sleeps."


def test_reversing_twice_changes_nothing() -> None:
    forwards = FORWARDS["bpe"]
    backwards = forwards.reversed()
    assert backwards.right_to_left and not backwards.reversed().right_to_left
    assert backwards.hash != forwards.hash == backwards.reversed().hash
    assert backwards.model is forwards.model is not FORWARDS["char"].model


@pytest.mark.parametrize("joint", [True, False])
def test_the_order_is_saved_with_the_vocabulary(joint: bool, tmp_path: Path) -> None:
    forwards = Vocabularies.train(PAIRS, Policy(kind="word", size=300), joint=joint)
    backwards = forwards.towards(right_to_left=True)
    assert backwards.joint == joint and backwards.towards(right_to_left=True) is backwards
    assert backwards.source is forwards.source and backwards.hash != forwards.hash
    backwards.save(tmp_path)
    loaded = Vocabularies.load(tmp_path)
    assert loaded.joint == joint and loaded.hash == backwards.hash
    assert loaded.source.encode("the dog") == forwards.source.encode("the dog")
    assert loaded.target.encode("le chien") == forwards.target.encode("le chien")[::-1]
    assert loaded.towards(right_to_left=False).hash == forwards.hash


def test_an_order_changed_by_hand_is_refused(tmp_path: Path) -> None:
    FORWARDS["bpe"].reversed().save(tmp_path)
    about = json.loads((tmp_path / "tokeniser.json").read_text())
    assert about.pop("right_to_left") is True
    (tmp_path / "tokeniser.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="do not belong together"):
        Tokeniser.load(tmp_path)
