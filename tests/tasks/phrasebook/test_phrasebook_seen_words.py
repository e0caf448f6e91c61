"""A held-out sentence has new combinations of words, not new words."""

import pytest

from saccade.tasks import Phrasebook
from saccade.tasks.phrasebook.combinations import split_of
from saccade.tasks.phrasebook.lexicon import lexicon
from saccade.text import words


def test_subjects_with_their_own_verb_forms_are_never_held_out() -> None:
    for verb in lexicon().verbs:
        for pronoun in ("I", "you", "we"):
            assert split_of("subject", pronoun, verb.name) == "train"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["fr", "de", "zh"])
def test_training_has_nearly_all_words_of_the_test(target: str) -> None:
    book = Phrasebook(source="en", target=target)
    seen = {word for pair in book.pairs(15_000, 1) for word in words(pair.target)}
    held_out = [word for pair in book.pairs(300, 3, split="test") for word in words(pair.target)]
    unseen = [word for word in held_out if word not in seen]
    assert len(unseen) / len(held_out) < 0.005, sorted(set(unseen))
