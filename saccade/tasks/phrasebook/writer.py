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
        for statement in sentence:
            if statement.join:
                self.write(self.comma, statement.key + tree.COMMA)
                self.write(self.words["joins"][statement.join], statement.key + tree.LINK)
            self.statement(statement)
        self.write(self.stop, tree.STOP)
        return self.finish()

    def finish(self) -> list[Token]:
        """The tokens, after changes that depend on neighbouring words."""
        return self.tokens

    @abstractmethod
    def statement(self, node: Statement) -> None: ...

    @abstractmethod
    def phrase(self, node: Phrase) -> None: ...

    @abstractmethod
    def topic(self, node: Clause) -> None: ...

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
        for word, part in node.forms[self.language] if node else ():
            self.write(word, number + part - 1)

    def time_and_topic(self, node: Clause, *, first: bool) -> None:
        """`first`: those that stand before the subject; otherwise the others."""
        if node.time_first == first:
            self.adverb(node.time, node.key + tree.TIME)
        if node.topic_first == first:
            self.topic(node)
            if first:
                self.write(self.comma, node.key + tree.COMMA)


class PlainOrder(Writer):
    """The order of words that English and French share."""

    @abstractmethod
    def verb(self, node: Clause) -> None: ...

    @abstractmethod
    def objects(self, node: Clause) -> None: ...

    def statement(self, node: Statement) -> None:
        if node.other is None:
            self.clause(node.main)
            return
        is_condition = node.link == "if"  # which comes first, with a comma
        if not is_condition:
            self.clause(node.main)
        self.write(self.words["links"][node.link], node.other.key + tree.LINK)
        self.clause(node.other)
        if is_condition:
            self.write(self.comma, node.other.key + tree.COMMA)
            self.clause(node.main)

    def clause(self, node: Clause) -> None:
        self.time_and_topic(node, first=True)
        if node.subject:
            self.nominal(node.subject, "subject")
        self.verb(node)
        self.objects(node)
        if node.place:
            where, phrase = node.place
            self.write(self.words["places"][where], node.key + tree.PLACE)
            self.phrase(phrase)
        self.time_and_topic(node, first=False)
        if node.that:
            self.write(self.words["words"]["that"], node.key + tree.THAT)
            self.clause(node.that)

    def after_noun(self, node: Phrase, relative_pronoun: str) -> None:
        """What follows a noun: of whom, about what, and a relative clause."""
        self.prepositional("of", node.key + tree.OF, node.of)
        self.prepositional("about", node.key + tree.ABOUT, node.about)
        if node.relative:
            self.write(relative_pronoun, node.key + tree.RELATIVE)
            self.clause(node.relative)

    def topic(self, node: Clause) -> None:
        self.prepositional("topic", node.key + tree.TOPIC, node.topic)

    def prepositional(self, preposition: str, number: int, phrase: Phrase | None) -> None:
        if phrase:
            self.write(self.words["words"][preposition], number)
            self.phrase(phrase)


def spell(tokens: Sequence[Token], language: str) -> str:
    """The usual spelling: no spaces in Chinese; elsewhere none before a stop or comma, none after an apostrophe."""
    text = ("" if language == "zh" else " ").join([word for word, _ in tokens])
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
