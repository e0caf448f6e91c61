"""Made-up sentences in which one word decides what *bank* means."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

WORD = "bank"


class SenseWords(NamedTuple):
    """Each list has words that can replace each other."""

    cues: Sequence[str]
    places: Sequence[str]  # what *bank* means here, in words with a single sense
    verbs: Sequence[str]  # what it does
    states: Sequence[str]  # how it is


SENSES: Mapping[str, SenseWords] = {
    "money": SenseWords(
        ["loan", "debt", "coin", "credit", "cheque", "salary"],
        ["lender", "insurer", "broker"],
        ["lends", "invests", "refunds"],
        ["solvent", "bankrupt", "generous"],
    ),
    "river": SenseWords(
        ["river", "stream", "water", "fish", "boat", "ferry"],
        ["shore", "beach", "coast"],
        ["floods", "erodes", "dries"],
        ["muddy", "grassy", "sandy"],
    ),
    "row": SenseWords(
        ["switch", "lamp", "cable", "engine", "dial", "sensor"],
        ["panel", "console", "rack"],
        ["blinks", "beeps", "overheats"],
        ["wired", "unplugged", "dark"],
    ),
}
_NO_CUES = ["friend", "letter", "story", "plan", "secret", "question"]
_BEGINNINGS = ["about", "because of", "despite", "after", "without", "before", "besides"]
_ASIDES = ("", "as we know", "this year", "they say", "once more")
_KINDS = ["old", "new", "big", "small", "other", "second"]


class Sentence(NamedTuple):
    words: tuple[str, ...]
    place: int  # of *bank*, or of the word in its place
    sense: str


def draw_sentence(random: Random, *, word: str | None, cued: bool = True) -> Sentence:
    """One cue decides the sense, and what follows depends on the sense: *after the loan, they say, the old bank
    invests*. `word` stands for all senses; None: a word with a single sense."""
    sense = random.choice([*SENSES])
    of_sense = SENSES[sense]
    cue = random.choice(of_sense.cues if cued else _NO_CUES)
    before = f"{random.choice(_BEGINNINGS)} the {cue} {random.choice(_ASIDES)} the {random.choice(_KINDS)}".split()
    after = random.choice(of_sense.verbs) if random.random() < 0.5 else f"is {random.choice(of_sense.states)}"
    return Sentence((*before, word or random.choice(of_sense.places), *after.split()), len(before), sense)


def draw_corpus(random: Random, count: int) -> list[Sentence]:
    """Half with *bank*, half with a word of one sense; in one sentence in ten, the cue tells nothing."""
    return [
        draw_sentence(random, word=WORD if random.random() < 0.5 else None, cued=random.random() >= 0.1)
        for _ in range(count)
    ]
