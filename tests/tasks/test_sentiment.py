"""`sentiment`: the clause that is not conceded decides, and the held-out splits have words of their own."""

import re

from saccade.tasks import Pair, task
from saccade.tasks.sentiment import _ADJECTIVES, _THINGS


def drawn(split: str = "train", count: int = 400) -> list[Pair]:
    return list(task("sentiment").pairs(count, 1, split))


def polarity_of(clause: str) -> set[str]:
    """By the rules, written another way: the adjectives that are known by heart, turned round by *not*."""
    words = clause.split()
    sides = {side for side, lists in _ADJECTIVES.items() for word in words if word in " ".join(lists.values()).split()}
    return {"positive", "negative"} - sides if "not" in words else sides


def test_the_clause_that_is_not_conceded_decides() -> None:
    shapes = set()
    for split in ("train", "test"):
        for pair in drawn(split):
            text = pair.source.removesuffix(".")
            if found := re.fullmatch(r"although (.*), (.*)|(.*), but (.*)", text):
                counts, shape = found[2] or found[4], "although" if found[2] else "but"
            else:
                counts, _, conceded = text.partition(", although ")
                shape = "conceded at the end" if conceded else "one clause"
            assert polarity_of(counts) == {pair.target}, pair
            shapes.add(shape)
    assert shapes == {"although", "but", "conceded at the end", "one clause"}


def test_both_labels_are_as_frequent() -> None:
    assert 0.4 < sum(pair.target == "positive" for pair in drawn()) / 400 < 0.6


def test_words_of_the_test_split_never_occur_in_training() -> None:
    train, test = (
        set(re.findall(r"\w+", " ".join(pair.source for pair in drawn(split)))) for split in ("train", "test")
    )
    held_out = set(_THINGS["test"].split()) | {word for lists in _ADJECTIVES.values() for word in lists["test"].split()}
    assert held_out <= test and held_out.isdisjoint(train)
    assert set(_THINGS["train"].split()).isdisjoint(test)


def test_an_unknown_adjective_stands_beside_a_known_one() -> None:
    known = {word for lists in _ADJECTIVES.values() for word in lists["train"].split()}
    unknown = {word for lists in _ADJECTIVES.values() for word in lists["test"].split()}
    for pair in drawn("test"):
        for first, second in re.findall(r"(\w+) and (\w+)", pair.source):
            assert len({first, second} & known) == 1 and len({first, second} & unknown) == 1
        assert unknown.isdisjoint(re.sub(r"\w+ and \w+", "", pair.source).split())
