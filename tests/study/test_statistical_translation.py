"""Phrases that are counted by hand, and translations that only a model of the target language can choose."""

import pytest

from saccade.data import TextPair
from saccade.study.statistical_translation import StatisticalTranslator, extract_phrases


def phrases(source: str, target: str, links: set[tuple[int, int]]) -> set[tuple[str, str]]:
    found = extract_phrases(tuple(source.split()), tuple(target.split()), frozenset(links))
    return {(" ".join(one), " ".join(other)) for one, other in found}


def test_phrases_have_no_link_to_the_outside() -> None:
    crossed = phrases("the red car", "la voiture rouge", {(0, 0), (1, 2), (2, 1)})
    assert crossed == {
        ("the", "la"),
        ("red", "rouge"),
        ("car", "voiture"),
        ("red car", "voiture rouge"),
        ("the red car", "la voiture rouge"),
    }


def test_two_words_of_one_word_stay_together() -> None:
    assert phrases("not here", "ne pas ici", {(0, 0), (0, 1), (1, 2)}) == {
        ("not", "ne pas"),
        ("here", "ici"),
        ("not here", "ne pas ici"),
    }


def test_a_word_without_a_link_may_join_its_neighbours() -> None:
    assert phrases("he sleeps", "il dort donc", {(0, 0), (1, 1)}) == {
        ("he", "il"),
        ("sleeps", "dort"),
        ("sleeps", "dort donc"),
        ("he sleeps", "il dort"),
        ("he sleeps", "il dort donc"),
    }


@pytest.fixture(scope="module")
def translator() -> StatisticalTranslator:
    nouns = {"dog": "le chien", "cat": "le chat", "cow": "la vache", "house": "la maison"}
    verbs = {"sleeps": "dort", "falls": "tombe", "waits": "attend"}
    pairs = [
        TextPair(f"the {noun} {verb}", f"{nouns[noun]} {verbs[verb]}")
        for noun in nouns
        for verb in verbs
        if (noun, verb) not in {("cow", "waits"), ("dog", "falls")}
    ]
    return StatisticalTranslator.learn(pairs)


@pytest.mark.parametrize(
    ("source", "target"), [("the cow waits", "la vache attend"), ("the dog falls", "le chien tombe")]
)
def test_known_words_are_combined_anew(translator: StatisticalTranslator, source: str, target: str) -> None:
    assert translator.translate(source) == target


def test_an_unknown_word_is_copied_and_an_empty_text_stays_empty(translator: StatisticalTranslator) -> None:
    assert translator.translate("the zebra sleeps").split()[1:] == ["zebra", "dort"]
    assert translator.translate("") == ""
