"""The abstract sentence that all four languages put into words.

A node has a `key`, a multiple of `STRIDE`; each thing about the node that a word can express has its own number,
`key + ROLE`. A language writes tokens with the numbers that they express; two words of two languages are linked if they
express the same number. This is the gold alignment.
"""

from dataclasses import dataclass, field

from saccade.tasks.phrasebook.lexicon import Adjective, Adverb, Noun, Verb

STRIDE = 32
# of a phrase
NOUN, DETERMINER, OF, RELATIVE, AND, FIRST_ADJECTIVE, SECOND_ADJECTIVE, ABOUT = range(8)
# of a clause
VERB, TENSE, NEGATION, LINK, COMMA, PREPOSITION, THAT, TO = range(8)
FREQUENCY, MANNER, PLACE, TOPIC, DEGREE, PREDICATE = range(8, 14)
TIME = 14  # TIME + part
# of the sentence, key 0
STOP = 1

# I, you, he, she, we, they -> the row of a conjugation table: I, you, he/she, we, they
PERSON = (0, 1, 2, 2, 3, 4)
THIRD, THIRD_PLURAL = 2, 4

NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
POSSESSIVES = ("my", "your", "his", "our", "their")
DEFINITE = frozenset({"the", "this", *POSSESSIVES})


@dataclass(slots=True)
class Pronoun:
    key: int
    which: int  # place in PERSON


@dataclass(slots=True)
class Phrase:
    key: int
    noun: Noun
    determiner: str
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()  # at most one before the noun in French, then one after it
    of: "Phrase | None" = None
    about: "Phrase | None" = None
    relative: "Clause | None" = None  # its subject or its object is None: the gap


@dataclass(slots=True)
class Coordination:
    key: int
    first: Phrase
    second: Phrase


Nominal = Pronoun | Phrase | Coordination


@dataclass(slots=True)
class Clause:
    key: int
    subject: Nominal | None
    verb: Verb | None  # None: the copula
    mood: str = "present"  # present, past, or a modal: will, want, can, must, should
    negated: bool = False
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Adjective | None = None
    degree: str = ""  # "", "very", "too"
    frequency: Adverb | None = None
    manner: Adverb | None = None
    place: "tuple[str, Phrase] | None" = None
    time: Adverb | None = None
    time_first: bool = False
    topic: Phrase | None = None
    topic_first: bool = False
    that: "Clause | None" = None


@dataclass(slots=True)
class Statement:
    """One clause, or two with a conjunction: `main because other`, `main when other`, `if other, main`."""

    key: int
    main: Clause
    link: str = ""
    other: Clause | None = None


@dataclass(slots=True)
class Sentence:
    statements: list[Statement]
    joins: list[str] = field(default_factory=list)  # and, but, or, so: before statements 1, 2, …


def agreement(subject: Nominal) -> int:
    """The row of the conjugation table that a subject requires."""
    if isinstance(subject, Pronoun):
        return PERSON[subject.which]
    return THIRD_PLURAL if isinstance(subject, Coordination) or subject.plural else THIRD
