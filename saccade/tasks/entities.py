"""`entities`: an English sentence to the tags of its persons, places and organisations, one tag per word.

    Vornal was fined for tax fraud .    B-ORG O O O O O O

B- begins an entity and I- continues it (IOB2). All names are made of the same syllables, and one may be of any kind,
so that only the words around it tell which. A split owns names: those of held-out sentences never occur in training.
"""

from collections.abc import Callable
from random import Random

from saccade.tasks.drawing import Lengths, Pair, RuleTask, count_words

_SENTENCES = (
    "PER was born in LOC .",
    "PER works for ORG .",
    "PER flew from LOC to LOC .",
    "PER was elected president on Sunday .",
    "PER and his wife live near LOC .",
    "PER told reporters that he was innocent .",
    "ORG was fined for tax fraud .",
    "ORG opened a new office in LOC .",
    "ORG hired PER as its new director .",
    "ORG lost half of its customers in LOC .",
    "LOC was covered in snow for a week .",
    "the mayor of LOC met PER yesterday .",
    "the chairman of ORG resigned .",
    "the road between LOC and LOC is closed .",
    "shares of ORG fell sharply on Monday .",
    "police in LOC questioned PER about the theft .",
    "heavy rain flooded the streets of LOC .",
    "according to PER , ORG will leave LOC next year .",
    "a novel by PER won the prize .",
    "workers at ORG went on strike in LOC .",
)
_STARTS = ("Br", "D", "F", "Gr", "H", "K", "L", "M", "N", "P", "R", "S", "T", "V")
_MIDDLES = ("al", "an", "ar", "el", "en", "er", "il", "in", "ol", "or", "un", "ur")
_SYLLABLES = ("b", "d", "g", "k", "m", "n", "t", "v")
_ENDS = ("a", "ac", "en", "er", "i", "in", "o", "on")
_SECOND = {"ORG": ("Group", "Bank", "Press"), "LOC": ("Bay", "Falls")}


class Entities(RuleTask):
    name, sources, words, pieces = "entities", "sentences", (4, 20), "unigram"
    summary = "English sentences to the tags of their persons, places and organisations; for a tagger"
    joint = False

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        text, tags = list[str](), list[str]()
        for word in random.choice(_SENTENCES).split():
            name = _draw_entity(word, random, belongs) if word in ("PER", "LOC", "ORG") else None
            text += name or [word]
            tags += ["O"] if name is None else [f"B-{word}", f"I-{word}"][: len(name)]
        source = " ".join(text)
        pair = Pair(source=source[0].upper() + source[1:], target=" ".join(tags))
        return pair if words[0] <= count_words(pair.source) <= words[1] else None


def _draw_entity(kind: str, random: Random, belongs: Callable[[str], bool]) -> list[str]:
    """One name, or two words."""
    name = [_draw_name(random, belongs)]
    if random.random() < 0.6:
        return name
    return [*name, random.choice(_SECOND[kind]) if kind in _SECOND else _draw_name(random, belongs)]


def _draw_name(random: Random, belongs: Callable[[str], bool]) -> str:
    while True:
        name = "".join(map(random.choice, (_STARTS, _MIDDLES, _SYLLABLES, _ENDS)))
        if belongs(name):
            return name
