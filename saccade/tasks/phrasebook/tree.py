"""The abstract sentence that all four languages put into words.

A language writes tokens with the meanings that they express. A meaning is a node and the name of something about it,
such as its verb, tense or negation; two words of two languages are linked if they express the same meaning. This is the
gold alignment.
"""

from dataclasses import dataclass, field

from saccade.tasks.phrasebook.lexicon import Adjective, Adverb, Noun, Verb

Meaning = tuple[object, str]

# I, you, he, she, we, they -> the row of a conjugation table: I, you, he/she, we, they
PERSON = (0, 1, 2, 2, 3, 4)
THIRD, THIRD_PLURAL = 2, 4

NUMERALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
POSSESSIVES = ("my", "your", "his", "our", "their")
DEFINITE = frozenset({"the", "this", *POSSESSIVES})


@dataclass(slots=True, eq=False)
class Pronoun:
    which: int  # place in PERSON


@dataclass(slots=True, eq=False)
class Phrase:
    noun: Noun
    determiner: str
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()  # at most one before the noun in French, then one after it
    of: "Phrase | None" = None
    about: "Phrase | None" = None
    relative: "Clause | None" = None

    def describe(self, relative: "Clause") -> None:
        """Add a relative clause, whose subject or object is this phrase."""
        self.relative, relative.head = relative, self


@dataclass(slots=True, eq=False)
class Coordination:
    first: Phrase
    second: Phrase


Nominal = Pronoun | Phrase | Coordination


@dataclass(slots=True, eq=False)
class Clause:
    subject: Nominal | None  # None: the head of a relative clause
    verb: Verb | None  # None: the copula
    mood: str = "present"  # present, past, or a modal: will, want, can, must, should
    negated: bool = False
    object: Nominal | None = None
    recipient: Nominal | None = None
    predicate: Adjective | None = None
    degree: str = ""  # "", "very", "too"
    frequency: Adverb | None = None
    manner: Adverb | None = None
    where: str = ""  # "", "in", "near", "behind", "before", "by"
    place: Phrase | None = None
    time: Adverb | None = None
    time_first: bool = False
    topic: Phrase | None = None
    topic_first: bool = False
    that: "Clause | None" = None
    head: Phrase | None = field(default=None, repr=False)  # the phrase that a relative clause describes

    @property
    def doer(self) -> Nominal:
        """The subject, which may be the head."""
        subject = self.subject or self.head
        assert subject is not None
        return subject

    @property
    def fronted(self) -> Phrase | None:
        """The head as the object of a relative clause, before which it stands: *the book that he reads*."""
        return None if self.subject is None else self.head

    @property
    def lacks_object(self) -> bool:
        """*not … any*: in French and German, the object itself is negated."""
        return isinstance(self.object, Phrase) and self.object.determiner == "any"

    @property
    def is_never(self) -> bool:
        return self.frequency is not None and self.frequency.name == "never"


@dataclass(slots=True, eq=False)
class Statement:
    """One clause, or two with a conjunction: `main because other`, `main when other`, `if other, main`."""

    main: Clause
    link: str = ""
    other: Clause | None = None
    join: str = ""  # and, but, or, so: joins this statement to the one before


Sentence = list[Statement]


def agreement(subject: Nominal) -> int:
    """The row of the conjugation table that a subject requires."""
    if isinstance(subject, Pronoun):
        return PERSON[subject.which]
    return THIRD_PLURAL if isinstance(subject, Coordination) or subject.plural else THIRD
