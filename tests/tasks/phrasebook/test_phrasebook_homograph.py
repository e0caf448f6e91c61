from collections import Counter
from math import log
from random import Random

import pytest

from saccade.tasks import Pair, Phrasebook
from saccade.tasks.phrasebook.homograph import is_feasible, make_draft
from saccade.tasks.phrasebook.lexicon import lexicon
from saccade.tasks.phrasebook.sampler import Sampler
from saccade.tasks.phrasebook.task import WRITERS
from saccade.tasks.phrasebook.writer import spell
from saccade.text.words import words

TARGETS = ("fr", "de", "zh")


def rest(pair: Pair) -> list[str]:
    """The source without its cue."""
    assert pair.sense is not None
    line = words(pair.source)
    return [word for i, word in enumerate(line) if i != pair.sense.source + pair.sense.distance]


def test_the_lexicon_has_a_dozen_ambiguous_words() -> None:
    words_ = lexicon()
    assert "bank" in words_.homographs
    assert len(words_.homographs) >= 13
    for first, second in words_.homographs.values():
        assert first.english == second.english
        assert set(first.french).isdisjoint(second.french)
        assert {form for forms in first.german for form in forms}.isdisjoint(f for fs in second.german for f in fs)
        assert first.chinese != second.chinese
        assert words_.sense_of[first] != words_.sense_of[second]
    for domain in words_.sense_of.values():
        assert len(words_.topics[domain]) >= 3
        assert domain in words_.cue_adjectives


@pytest.mark.parametrize("target", TARGETS)
def test_translations_of_senses_are_unambiguous(target: str) -> None:
    """No form of a sense turns up in sentences without the word, so that finding it tells the sense."""
    book = Phrasebook(source="en", target=target)
    plain = [pair.target for pair in book.pairs(3000, seed=1, words=(10, 30)) if pair.sense is None]
    text = "\n".join(f" {' '.join(words(line))} " for line in plain)
    for noun in lexicon().sense_of:
        for form in book.forms(noun):
            assert f" {' '.join(words(form))} " not in text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cue", ["before", "after", "either"])
def test_distance_side_and_translation_are_as_requested(target: str, cue: str) -> None:
    book = Phrasebook(source="en", target=target)
    domains = {topic.name: domain for domain, topics in lexicon().topics.items() for topic in topics}
    domains |= {adjective.name: domain for domain, adjective in lexicon().cue_adjectives.items()}
    for pair in book.ambiguous(60, seed=2, distance=(1, 24), cue=cue):
        sense, source, target_words = pair.sense, words(pair.source), words(pair.target)
        assert sense is not None
        assert 1 <= abs(sense.distance) <= 24
        assert cue == "either" or (sense.distance < 0) == (cue == "before")
        assert source[sense.source] in (sense.word, *lexicon().homographs[sense.word][0].english)
        assert source[sense.source + sense.distance] == sense.cue
        assert domains[sense.cue or ""] == sense.name
        assert sense.read(pair.target) == sense.name
        assert "".join(target_words[j] for j in sense.target) in {f.replace(" ", "") for f in sense.forms[sense.name]}
        assert {(sense.source, j) for j in sense.target} <= set(pair.alignment or ())
        # no second cue anywhere
        assert [word for word in source if word in domains] == [sense.cue]


@pytest.mark.parametrize("distance", [-1, 2, -3, -4, 4, -5, 5, -11, 12, -20, 20, -30, 30])
def test_every_feasible_distance_can_be_drawn(distance: int) -> None:
    book = Phrasebook(source="en", target="fr")
    assert is_feasible(distance)
    cue = "before" if distance < 0 else "after"
    for pair in book.ambiguous(5, seed=1, distance=(abs(distance), abs(distance)), cue=cue):
        assert pair.sense is not None
        assert pair.sense.distance == distance


@pytest.mark.slow
def test_distances_and_senses_are_equally_likely() -> None:
    pairs = list(Phrasebook(source="en", target="fr").ambiguous(2000, seed=3, distance=(1, 20)))
    senses = [pair.sense for pair in pairs if pair.sense]
    distances = Counter(abs(sense.distance) for sense in senses)
    assert set(distances) == set(range(1, 21))
    assert min(distances.values()) > 50
    first = sum(lexicon().sense_of[lexicon().homographs[s.word][0]] == s.name for s in senses)
    assert abs(first - 1000) < 4 * (2000 * 0.25) ** 0.5


def test_sentences_of_both_senses_differ_only_in_the_cue() -> None:
    """The law itself: one draft, both senses, every cue; English differs in the cue alone."""
    sampler = Sampler("train", Random(4).random)
    words_ = lexicon()
    for i in range(150):
        distance = (1 + i % 25) * (-1) ** i
        draft = make_draft(sampler, distance if is_feasible(distance) else -distance)
        stripped, targets = set(), set()
        for sense in words_.homographs[draft.word.noun.name]:
            for which in (0.0, 0.4, 0.8):
                draft.choose_sense(sense, words_.sense_of[sense], which)
                tokens = WRITERS["en"]().sentence(draft.sentence)
                stripped.add(tuple(word for word, ids in tokens if draft.cue_meaning not in ids))
            targets.add(spell(WRITERS["zh"]().sentence(draft.sentence), "zh"))
        assert len(stripped) == 1
        assert len(targets) == 2


@pytest.mark.slow
def test_nothing_but_the_cue_predicts_the_sense() -> None:
    """A naive Bayes classifier for each word, on all words but the cue, stays at chance; with the cue it does not."""
    pairs = list(Phrasebook(source="en", target="fr").ambiguous(4000, seed=8, split="train", distance=(1, 12)))
    for with_cue, low, high in ((False, 0.45, 0.55), (True, 0.8, 1.0)):
        counts: dict[tuple[str, str], Counter[str]] = {}
        right = 0
        for k, pair in enumerate(pairs):
            assert pair.sense is not None
            line = words(pair.source) if with_cue else rest(pair)
            if k < 3000:
                counts.setdefault((pair.sense.word, pair.sense.name), Counter()).update(set(line))
                continue
            scores = {}
            for name in pair.sense.forms:
                seen = counts[pair.sense.word, name]
                total = sum(seen.values())
                scores[name] = sum(log((seen[word] + 1) / (total + 1000)) for word in set(line))
            right += max(scores, key=scores.__getitem__) == pair.sense.name
        assert low <= right / 1000 <= high


def test_a_removed_cue_is_replaced_by_a_neutral_word() -> None:
    neutral = {topic.name for topic in lexicon().topics["neutral"]} | {lexicon().cue_adjectives["neutral"].name}
    for pair in Phrasebook(source="en", target="de").ambiguous(100, seed=5, cue="removed"):
        assert pair.sense is not None
        assert pair.sense.cue is None
        assert words(pair.source)[pair.sense.source + pair.sense.distance] in neutral
        assert pair.sense.read(pair.target) == pair.sense.name


def test_training_pairs_have_ambiguous_words_with_near_and_far_cues() -> None:
    pairs = list(Phrasebook(source="en", target="fr").pairs(3000, seed=1, words=(8, 40)))
    senses = [pair.sense for pair in pairs if pair.sense]
    assert 0.15 < len(senses) / len(pairs) < 0.25
    assert all(sense.cue for sense in senses)
    distances = {abs(sense.distance) for sense in senses}
    assert distances >= set(range(1, 21))
    assert {sense.distance > 0 for sense in senses} == {False, True}
    assert {sense.word for sense in senses} == set(lexicon().homographs)
