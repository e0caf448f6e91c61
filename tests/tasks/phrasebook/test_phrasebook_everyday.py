"""The everyday sentences, and their place among the training pairs."""

from itertools import permutations

import pytest

from saccade.errors import UserError
from saccade.tasks import Phrasebook, task
from saccade.tasks.phrasebook.everyday import everyday_sentences
from saccade.tasks.phrasebook.task import EVERYDAY_PERIOD, WRITERS
from saccade.tasks.phrasebook.writer import spell
from saccade.text.words import words

TARGETS = ("fr", "de", "zh")


def links(source: str, target: str, sentence: str) -> set[tuple[str, str]]:
    pairs = Phrasebook(source=source, target=target).everyday_pairs()
    (pair,) = (pair for pair in pairs if pair.source == sentence)
    read, written = words(pair.source), words(pair.target)
    return {(read[i], written[j]) for i, j in pair.alignment or ()}


def test_sentences_are_spelt_as_in_each_language() -> None:
    by_target = {target: Phrasebook(source="en", target=target).everyday_pairs() for target in TARGETS}
    texts = {
        pair.source: tuple(by_target[target][i].target for target in TARGETS) for i, pair in enumerate(by_target["fr"])
    }
    assert texts["what is your name?"] == ("comment t'appelles-tu ?", "wie heißt du?", "你叫什么名字？")
    assert texts["I love you."] == ("je t'aime.", "ich liebe dich.", "我爱你。")
    assert texts["I am fine, thank you."] == ("je vais bien, merci.", "mir geht es gut, danke.", "我很好，谢谢。")


def test_bank_has_three_senses_and_a_bench_is_a_bank_in_german() -> None:
    banks = [pair.target for pair in Phrasebook(source="en", target="fr").everyday_pairs() if "bank" in pair.source][:3]
    assert [word for line in banks for word in ("rive", "banque", "compter") if word in words(line)] == [
        "rive",
        "banque",
        "compter",
    ]
    assert ("bank", "Bank") in links("en", "de", "I put my money in the bank.")
    assert ("bench", "Bank") in links("en", "de", "we are sitting on a bench.")


def test_links_join_words_with_the_same_meaning() -> None:
    assert links("en", "fr", "I miss you.") == {("I", "me"), ("miss", "manques"), ("you", "tu"), (".", ".")}
    assert links("zh", "en", "我爱你。") == {("我", "I"), ("爱", "love"), ("你", "you"), ("。", ".")}
    assert links("en", "fr", "what is your name?") == {
        *(("what", "comment"), ("is", "appelles-tu"), ("name", "appelles-tu"), ("your", "t'")),
        *(("your", "appelles-tu"), ("?", "?")),
    }


@pytest.mark.parametrize("language", list(WRITERS))
def test_text_words_finds_the_words_of_the_table(language: str) -> None:
    for tokens in everyday_sentences(language):
        assert words(spell(tokens, language)) == [word for word, _ in tokens]


@pytest.mark.parametrize(("source", "target"), list(permutations(WRITERS, 2)))
def test_one_sentence_has_one_translation_and_linked_words(source: str, target: str) -> None:
    pairs = Phrasebook(source=source, target=target).everyday_pairs()
    assert len({pair.source for pair in pairs}) == len(pairs) == len(everyday_sentences("en"))
    for pair in pairs:
        read = len(words(pair.source))
        assert pair.alignment is not None
        assert len({i for i, _ in pair.alignment}) >= 0.5 * read, pair


@pytest.mark.parametrize("target", TARGETS)
def test_the_grammar_translates_no_everyday_sentence_otherwise(target: str) -> None:
    book = Phrasebook(source="en", target=target)
    everyday = {pair.source: pair.target for pair in book.everyday_pairs()}
    for split in ("train", "test"):
        for pair in book.pairs(2000, seed=3, split=split, words=(3, 7)):
            assert everyday.get(pair.source, pair.target) == pair.target


def test_everyday_sentences_are_a_share_of_the_training_pairs_alone() -> None:
    book, with_everyday = task("phrasebook-en-zh"), task("everyday-en-zh")
    drawn = list(with_everyday.pairs(10 * EVERYDAY_PERIOD, seed=1))
    assert isinstance(book, Phrasebook)
    everyday = book.everyday_pairs()
    turns = drawn[EVERYDAY_PERIOD - 1 :: EVERYDAY_PERIOD]
    assert turns == everyday[:10]
    others = [pair for pair in drawn if pair not in turns]
    assert others == list(book.pairs(len(others), seed=1))
    for split in ("valid", "test"):
        assert list(with_everyday.pairs(40, 1, split)) == list(book.pairs(40, 1, split))


def test_only_sentences_of_the_requested_length_are_drawn() -> None:
    drawn = list(task("everyday-en-fr").pairs(5 * EVERYDAY_PERIOD, seed=1, words=(9, 10)))
    assert {len(words(pair.source)) for pair in drawn} == {9, 10}
    assert drawn[EVERYDAY_PERIOD - 1].target == "nous sommes assis sur la rive du fleuve."
    long = list(
        task("everyday-en-fr").pairs(EVERYDAY_PERIOD, seed=1, words=(15, 20))
    )  # no everyday sentence is so long
    assert long == list(task("phrasebook-en-fr").pairs(EVERYDAY_PERIOD, seed=1, words=(15, 20)))


def test_everyday_sentences_are_learnt_from_english() -> None:
    with pytest.raises(UserError, match="learnt from English, not from fr"):
        Phrasebook(source="fr", target="en", everyday=True)
