from itertools import pairwise
from random import Random

import pytest

from saccade.tasks import SPLITS, Phrasebook
from saccade.tasks.phrasebook.combinations import choices, combinations, split_of
from saccade.tasks.phrasebook.homograph import make_draft
from saccade.tasks.phrasebook.lexicon import lexicon
from saccade.tasks.phrasebook.sampler import Sampler
from saccade.text.words import words


@pytest.mark.parametrize("split", SPLITS)
def test_the_sampler_draws_only_combinations_of_its_split(split: str) -> None:
    sampler = Sampler(split, Random(2).random)
    owners = set()
    for i in range(1500):
        tree = sampler.sentence(3 + i % 40) if i % 3 else make_draft(sampler, -5 - i % 20).sentence
        drawn_from = {split_of(*combination) for combination in combinations(tree)}
        assert drawn_from
        owners |= drawn_from
    assert owners == {"train", split}


def test_shares_of_reserved_combinations() -> None:
    names = [(verb.name, noun.name) for verb in lexicon().verbs for noun in lexicon().nouns]
    drawn = [split_of("object", *pair) for pair in names]
    assert 0.08 < drawn.count("test") / len(drawn) < 0.12
    assert 0.035 < drawn.count("valid") / len(drawn) < 0.065


def test_every_test_sentence_has_a_combination_that_training_lacks() -> None:
    """From the text alone: adjective and noun side by side in English."""
    held_out = {
        (adjective.name, form)
        for adjective in lexicon().adjectives
        for noun in lexicon().nouns
        for form in noun.english
        if split_of("adjective", adjective.name, noun.name) != "train"
    }
    book = Phrasebook(source="en", target="de")
    shown = {}
    for split in ("train", "test"):
        lines = [words(pair.source) for pair in book.pairs(1500, seed=1, split=split, words=(5, 30))]
        shown[split] = sum(pair in held_out for line in lines for pair in pairwise(line))
    assert shown["train"] == 0
    assert shown["test"] > 100


def test_training_has_every_word() -> None:
    allowed, all_words = choices("train"), lexicon()
    assert all(allowed.subjects[verb] for verb in all_words.verbs)
    assert all(allowed.objects[verb] for verb in all_words.verbs if verb.objects)
    used = {noun for nouns in (*allowed.objects.values(), *allowed.subjects.values()) for noun in nouns}
    assert used | set(allowed.carriers) == set(all_words.nouns)
    placed = {a for fitting in (*allowed.before.values(), *allowed.after.values()) for a in fitting}
    assert placed == set(all_words.adjectives)
    for split in SPLITS:
        for name in all_words.homographs:
            verbs = [v for v in choices(split).homographs if name in choices(split).homographs[v]]
            assert any("topic" in verb.objects for verb in verbs)
            assert any("will" in choices(split).moods[verb] for verb in verbs)
