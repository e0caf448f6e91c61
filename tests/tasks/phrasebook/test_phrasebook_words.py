"""The word tables are complete, and the pairs drawn from them are those of the recorded benchmarks."""

from hashlib import sha256

import pytest

from saccade.tasks import Phrasebook
from saccade.tasks.phrasebook.lexicon import function_words, lexicon
from saccade.tasks.phrasebook.phrases import DEFINITE_PLURAL, NEGATED_SINGULAR, PLURAL, SINGULAR

SINGULARS = {*SINGULAR, *NEGATED_SINGULAR, "every", "generic"}
PLURALS = {*PLURAL, *DEFINITE_PLURAL, "all", "generic"}
CONJUGATIONS = {"will", "want", "can", "must", "should"}


@pytest.mark.parametrize("language", ["en", "fr", "de", "zh"])
def test_function_words_are_complete(language: str) -> None:
    tables = function_words(language)
    assert {len(forms) for forms in tables["pronouns"].values()} == {6}
    assert {len(forms) for forms in tables.get("verbs", {"none": ("",) * 5}).values()} == {5}
    assert set(tables["joins"]) == {"and", "but", "or", "so"} and set(tables["links"]) == {"because", "when", "if"}
    assert set(tables["places"]) == {"in", "near", "behind", "before", "by"}
    if language == "zh":
        assert set(tables["singular"]) >= SINGULARS and set(tables["plural"]) >= PLURALS
        assert set(tables["modals"]) == CONJUGATIONS
    elif language != "en":
        assert set(tables["determiners"]) == SINGULARS | PLURALS
        assert set(tables["verbs"]) >= CONJUGATIONS and set(tables["degrees"]) == {"very", "too"}


def test_german_determiners_have_an_ending_for_every_case_and_gender() -> None:
    tables = function_words("de")
    assert {name: len(forms) for name, forms in tables["endings"].items() if len(forms) != 16} == {
        "relative": 12,
        "none": 1,
    }
    for stem, *endings in tables["determiners"].values():
        assert stem.islower() or not stem
        assert set(endings) <= set(tables["endings"])


def test_every_sense_of_an_ambiguous_word_has_cues() -> None:
    words = lexicon()
    assert all(len(senses) == 2 for senses in words.homographs.values())
    for domain in (*words.sense_of.values(), "neutral"):
        assert words.topics[domain] and words.cue_adjectives[domain]


@pytest.mark.parametrize(
    ("source", "target", "digest"),
    [
        ("en", "fr", "6cd0c43a98ff8ec3"),
        ("fr", "de", "5a247a8d61029495"),
        ("de", "zh", "e58f9f05906e8a7c"),
        ("zh", "en", "ca63cc341d737d0e"),
    ],
)
def test_pairs_of_a_seed_never_change(source: str, target: str, digest: str) -> None:
    pairs = Phrasebook(source=source, target=target).pairs(200, seed=1)
    text = "".join(f"{pair.source}\t{pair.target}\t{pair.alignment}\n" for pair in pairs)
    assert sha256(text.encode()).hexdigest()[:16] == digest
