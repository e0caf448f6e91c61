"""What all languages share in putting an abstract sentence into words, and the links between two such sentences."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import Adverb, function_words
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, Sentence, Statement

Token = tuple[str, tuple[int, ...]]  # a word, and the numbers of what it expresses


class Writer(ABC):
    """Writes one sentence as tokens."""

    language: ClassVar[str]
    comma: ClassVar[str] = ","
    stop: ClassVar[str] = "."

    def __init__(self) -> None:
        self.words = function_words(self.language)
        self.tokens: list[Token] = []

    def write(self, words: str | Sequence[str], *numbers: int) -> None:
        """Add words that express `numbers`; a text is split at its spaces."""
        self.tokens += [(word, numbers) for word in (words.split() if isinstance(words, str) else words)]

    def sentence(self, sentence: Sentence) -> list[Token]:
        for place, statement in enumerate(sentence.statements):
            if place:
                self.write(self.comma, statement.key + tree.COMMA)
                self.join(statement, sentence.joins[place - 1])
            else:
                self.statement(statement)
        self.write(self.stop, tree.STOP)
        return self.finish()

    def join(self, statement: Statement, join: str) -> None:
        self.write(self.words["joins"][join], statement.key + tree.LINK)
        self.statement(statement)

    def finish(self) -> list[Token]:
        """The tokens, after changes that depend on neighbouring words."""
        return self.tokens

    @abstractmethod
    def statement(self, node: Statement) -> None: ...

    @abstractmethod
    def phrase(self, node: Phrase) -> None: ...

    def nominal(self, node: Nominal, pronouns: str, before: Token | None = None) -> None:
        """`before` is a preposition, repeated before the second of two phrases."""
        preposition = [before] if before else []
        self.tokens += preposition
        if isinstance(node, Phrase):
            self.phrase(node)
        elif isinstance(node, Pronoun):
            self.write(self.words["pronouns"][pronouns][node.which], node.key)
        else:
            self.phrase(node.first)
            self.write(self.words["words"]["and"], node.key + tree.AND)
            self.tokens += preposition
            self.phrase(node.second)

    def adverb(self, node: Adverb | None, number: int) -> None:
        if node:
            for word, part in node.forms[self.language]:
                self.write(word, number + part - 1)


class PlainOrder(Writer):
    """The order of words that English and French share."""

    @abstractmethod
    def verb(self, node: Clause, subject: Nominal, head: Phrase | None) -> None: ...

    @abstractmethod
    def objects(self, node: Clause) -> None: ...

    def statement(self, node: Statement) -> None:
        if node.other is None:
            self.clause(node.main)
            return
        first, second = (node.other, node.main) if node.link == "if" else (node.main, node.other)
        link = self.words["links"][node.link], node.other.key + tree.LINK
        if node.link == "if":
            self.write(*link)
        self.clause(first)
        if node.link == "if":
            self.write(self.comma, node.other.key + tree.COMMA)
        else:
            self.write(*link)
        self.clause(second)

    def clause(self, node: Clause, head: Phrase | None = None) -> None:
        """`head` is the phrase that a relative clause describes; it fills the gap."""
        key, subject = node.key, node.subject or head
        assert subject is not None
        if node.topic_first:
            self.topic(node)
            self.write(self.comma, key + tree.COMMA)
        if node.time_first:
            self.adverb(node.time, key + tree.TIME)
        if node.subject:
            self.nominal(node.subject, "subject")
        self.verb(node, subject, head)
        self.objects(node)
        if node.place:
            where, phrase = node.place
            self.write(self.words["places"][where], key + tree.PLACE)
            self.phrase(phrase)
        if not node.time_first:
            self.adverb(node.time, key + tree.TIME)
        if not node.topic_first:
            self.topic(node)
        if node.that:
            self.write(self.words["words"]["that"], key + tree.THAT)
            self.clause(node.that)

    def modifiers(self, node: Phrase) -> None:
        """The phrases after a noun: of whom, about what."""
        for name, number, phrase in (("of", tree.OF, node.of), ("about", tree.ABOUT, node.about)):
            if phrase:
                self.write(self.words["words"][name], node.key + number)
                self.phrase(phrase)

    def topic(self, node: Clause) -> None:
        if node.topic:
            self.write(self.words["words"]["topic"], node.key + tree.TOPIC)
            self.phrase(node.topic)


def spell(tokens: Sequence[Token], language: str) -> str:
    """The usual spelling: no spaces in Chinese; elsewhere none before a stop or comma, none after an apostrophe."""
    if language == "zh":
        return "".join([word for word, _ in tokens])
    text = " ".join([word for word, _ in tokens])
    return text.replace(" ,", ",").replace(" .", ".").replace("' ", "'")


def align(source: Sequence[Token], target: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """Links (i, j) between words that express the same thing, sorted."""
    where: dict[int, list[int]] = {}
    for j, (_, numbers) in enumerate(target):
        for number in numbers:
            where.setdefault(number, []).append(j)
    return tuple(
        sorted({(i, j) for i, (_, numbers) in enumerate(source) for number in numbers for j in where.get(number, ())})
    )


def positions(tokens: Sequence[Token], number: int) -> tuple[int, ...]:
    return tuple(i for i, (_, numbers) in enumerate(tokens) if number in numbers)
