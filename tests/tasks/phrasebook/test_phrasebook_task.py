import subprocess
import sys
from collections import Counter
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.tasks import Phrasebook
from saccade.tasks.phrasebook.combinations import choices
from saccade.tasks.phrasebook.lexicon import Noun
from saccade.tasks.phrasebook.phrases import PLURAL, SINGULAR
from saccade.tasks.phrasebook.sampler import Sampler
from saccade.tasks.phrasebook.task import WRITERS
from saccade.tasks.phrasebook.tree import POSSESSIVES
from saccade.tasks.phrasebook.writer import spell
from saccade.text.words import words

LANGUAGES = tuple(WRITERS)
BOOK = Phrasebook(source="en", target="fr")
directions = st.sampled_from(list(permutations(LANGUAGES, 2)))


@settings(deadline=None, max_examples=60)
@given(directions, st.integers(0, 10**6), st.integers(3, 80), st.integers(0, 20), st.sampled_from(("train", "test")))
def test_lengths_are_as_requested_and_links_join_existing_words(
    direction: tuple[str, str], seed: int, least: int, more: int, split: str
) -> None:
    book = Phrasebook(source=direction[0], target=direction[1])
    for pair in book.pairs(2, seed, split, (least, least + more)):
        source, target = words(pair.source), words(pair.target)
        assert least <= len(source) <= least + more
        assert pair.alignment is not None
        assert list(pair.alignment) == sorted(set(pair.alignment))
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in pair.alignment)
        # the full stop, and most words, have a counterpart
        assert (len(source) - 1, len(target) - 1) in pair.alignment
        assert len({i for i, _ in pair.alignment}) >= 0.5 * len(source)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 80))
def test_text_words_finds_the_words_of_the_grammar(seed: int, length: int) -> None:
    tree = Sampler("train", Random(seed).random).sentence(length)
    for language, write in WRITERS.items():
        tokens = write().sentence(tree)
        assert words(spell(tokens, language)) == [word for word, _ in tokens]
        assert all(word for word, _ in tokens)


def test_phrasebook_lengths_are_equally_likely() -> None:
    lengths = Counter(len(words(pair.source)) for pair in BOOK.pairs(3000, seed=5, words=(3, 20)))
    assert set(lengths) == set(range(3, 21))
    assert min(lengths.values()) > 3000 / 18 / 3


def test_the_same_request_gives_the_same_pairs_in_any_process() -> None:
    pairs = list(BOOK.pairs(40, seed=3, words=(3, 30)))
    assert pairs == list(BOOK.pairs(40, seed=3, words=(3, 30)))
    assert pairs != list(BOOK.pairs(40, seed=4, words=(3, 30)))
    script = (
        "from saccade.tasks import task\n"
        "for p in task('phrasebook-en-fr').pairs(40, seed=3, words=(3, 30)): print(p.source + '|' + p.target)"
    )
    command = [sys.executable, "-X", "utf8", "-c", script]
    other = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env={"PYTHONHASHSEED": "7"})
    assert other.stdout.splitlines() == [f"{p.source}|{p.target}" for p in pairs]


def test_one_source_has_one_target_in_every_direction() -> None:
    """Apart from ambiguous words nothing is left to guess: the task can be learnt perfectly, both ways."""
    sampler = Sampler("train", Random(11).random)
    seen: dict[tuple[str, str], dict[str, str]] = {direction: {} for direction in permutations(LANGUAGES, 2)}
    for i in range(12_000):
        tree = sampler.sentence(3 + i % 5)
        texts = {language: spell(write().sentence(tree), language) for language, write in WRITERS.items()}
        for (source, target), known in seen.items():
            assert known.setdefault(texts[source], texts[target]) == texts[target]


def test_each_language_has_hundreds_of_words() -> None:
    counts = {}
    for source, target in (("en", "zh"), ("fr", "de")):
        pairs = list(Phrasebook(source=source, target=target).pairs(5000, seed=1, words=(15, 25)))
        counts[source] = len({word for pair in pairs for word in words(pair.source)})
        counts[target] = len({word for pair in pairs for word in words(pair.target)})
    assert min(counts.values()) >= 440, counts


def noun_phrases(noun: Noun) -> int:
    """How many English noun phrases with at most one adjective a noun has."""
    singular = set(SINGULAR) - (set(POSSESSIVES) if "unowned" in noun.kinds else set())
    determiners = len(singular) + (0 if noun.mass else len(set(PLURAL)))
    allowed = choices("train")
    return determiners * (1 + len(allowed.before[noun.name]) + len(allowed.after[noun.name]))


def test_there_are_more_than_a_billion_sentences() -> None:
    """An exact count of one kind of training sentence, all different: *the sad man bought a new car [last week]*."""
    allowed = choices("train")
    count = 0
    for verb in allowed.transitive:
        if "past" in allowed.moods[verb]:
            subjects = sum(noun_phrases(noun) for noun in allowed.subjects[verb])
            objects = sum(noun_phrases(noun) for noun in allowed.objects[verb])
            count += subjects * objects * (1 + len(allowed.times["past"]))
    assert count > 10**9


def test_errors_name_what_is_possible() -> None:
    with pytest.raises(UserError, match="no language 'it'; it has en, fr, de, zh"):
        Phrasebook(source="en", target="it")
    with pytest.raises(UserError, match="between two languages"):
        Phrasebook(source="en", target="en")
    with pytest.raises(UserError, match="the shortest have 3"):
        BOOK.pairs(1, 1, words=(1, 2))
    with pytest.raises(UserError, match="cannot make sentences of 9 to 5 words"):
        BOOK.pairs(1, 1, words=(9, 5))
    with pytest.raises(UserError, match="split is 'dev'; expected one of train, valid, test"):
        BOOK.pairs(1, 1, split="dev")
    with pytest.raises(UserError, match="translate from en, not from fr"):
        Phrasebook(source="fr", target="en").ambiguous(1, 1)
    with pytest.raises(UserError, match="cue is 'left'"):
        BOOK.ambiguous(1, 1, cue="left")
    with pytest.raises(UserError, match="no cue can be 1 to 1 words after its word"):
        BOOK.ambiguous(1, 1, distance=(1, 1), cue="after")
