"""`sentiment`: a sentence about one or two things, and whether its opinion is positive or negative.

Adjectives decide, *not* turns one round, and where two clauses disagree, the one that is not conceded counts:

    although the soup was not bad, the waiter was rude.    negative

A clause may join two adjectives of one polarity by *and*. The held-out splits own words that the others never have:
what the sentences are about, and in each such clause one of the two adjectives, whose polarity the other one gives
away. Where two clauses disagree, the words without their order do not tell which of them counts.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Literal

from saccade.tasks.drawing import Lengths, Pair, RuleTask, count_words

Polarity = Literal["positive", "negative"]

_OTHER: dict[Polarity, Polarity] = {"positive": "negative", "negative": "positive"}
_THINGS = {
    "train": "soup film hotel book room bread coffee garden song story dinner play show town beach train meal lake "
    "music market cake museum bridge shop trip course talk boat concert lesson",
    "valid": "salad novel cabin ferry sauce opera",
    "test": "stew poem cottage cruise dessert ballet",
}
_ADJECTIVES: dict[Polarity, dict[str, str]] = {
    "positive": {
        "train": "good great lovely nice excellent perfect pleasant wonderful charming brilliant beautiful superb",
        "valid": "splendid fine magical",
        "test": "delightful gorgeous fabulous",
    },
    "negative": {
        "train": "bad poor awful boring terrible dull horrible ugly dreadful nasty weak disappointing",
        "valid": "grim dismal hopeless",
        "test": "ghastly mediocre tedious",
    },
}
_OWNERS = {
    word: split
    for by_split in (_THINGS, *_ADJECTIVES.values())
    for split, words in by_split.items()
    for word in words.split()
}
_DEGREES = ("really", "very", "quite", "rather")


class Sentiment(RuleTask):
    name, sources, words, pieces = "sentiment", "sentences", (5, 20), "unigram"
    summary = "English sentences to positive or negative; for a classifier"
    joint = False

    def owner(self, content: str) -> str:
        return _OWNERS[content]

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        polarity: Polarity = random.choice(["positive", "negative"])
        things = random.sample(_owned(_THINGS, belongs), 2)
        counts = f"the {things[0]} was {_draw_opinion(polarity, random, belongs)}"
        text = counts
        if random.random() < 0.5:
            conceded = f"the {things[1]} was {_draw_opinion(_OTHER[polarity], random, belongs)}"
            text = random.choice(
                [f"{conceded}, but {counts}", f"although {conceded}, {counts}", f"{counts}, although {conceded}"]
            )
        pair = Pair(source=f"{text}.", target=polarity)
        return pair if words[0] <= count_words(pair.source) <= words[1] else None


def _draw_opinion(polarity: Polarity, random: Random, belongs: Callable[[str], bool]) -> str:
    """Only what *and* joins may be a word of a held-out split; the other word is known to all."""
    known = {word: words["train"].split() for word, words in _ADJECTIVES.items()}
    form = random.random()
    if form < 0.3:
        own = random.choice(_owned(_ADJECTIVES[polarity], belongs))
        other = random.choice([word for word in known[polarity] if word != own])
        return " and ".join(random.sample([own, other], 2))
    if form < 0.6:
        return f"not {random.choice(known[_OTHER[polarity]])}"
    degree = f"{random.choice(_DEGREES)} " if random.random() < 0.3 else ""
    return degree + random.choice(known[polarity])


def _owned(by_split: Mapping[str, str], belongs: Callable[[str], bool]) -> list[str]:
    return [word for words in by_split.values() for word in words.split() if belongs(word)]
