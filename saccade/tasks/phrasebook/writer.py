"""What all languages share in putting an abstract sentence into words, and the links between two such sentences."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from saccade.tasks.phrasebook.lexicon import Adverb, Conjugation, function_words
from saccade.tasks.phrasebook.tree import Clause, Meaning, Nominal, Phrase, Pronoun, Sentence, Statement, agreement

Token = tuple[str, tuple[Meaning, ...]]  # a word, and what it expresses


class Writer(ABC):
    """Writes one sentence as tokens."""

    language: ClassVar[str]
    comma: ClassVar[str] = ","
    stop: ClassVar[str] = "."

    def __init__(self) -> None:
        self.words = function_words(self.language)
        self.tokens: list[Token] = []

    def write(self, words: str | Sequence[str], *meanings: Meaning) -> None:
        """Add words that express `meanings`; a text is split at its spaces."""
        self.tokens += [(word, meanings) for word in (words.split() if isinstance(words, str) else words)]

    def sentence(self, sentence: Sentence) -> list[Token]:
        for statement in sentence:
            if statement.join:
                self.write(self.comma, (statement, "comma"))
                self.write(self.words["joins"][statement.join], (statement, "link"))
            self.statement(statement)
        self.write(self.stop, (None, "stop"))
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

    def nominal(self, node: Nominal | None, pronouns: str, before: Token | None = None) -> None:
        """`before` is a preposition, repeated before the second of two phrases."""
        preposition = [before] if node and before else []
        self.tokens += preposition
        if isinstance(node, Phrase):
            self.phrase(node)
        elif isinstance(node, Pronoun):
            self.write(self.words["pronouns"][pronouns][node.which], (node, "pronoun"))
        elif node:
            self.phrase(node.first)
            self.write(self.words["words"]["and"], (node, "and"))
            self.tokens += preposition
            self.phrase(node.second)

    def adverb(self, adverb: Adverb | None, node: Clause, role: str) -> None:
        for word, part in adverb.forms[self.language] if adverb else ():
            self.write(word, (node, f"{role} {part}"))

    def bracket(self, node: Clause) -> tuple[Token, list[Token]]:
        """The finite verb, and what belongs to it: a prefix, participle or infinitive."""
        person, verb, tense, auxiliaries = agreement(node.doer), (node, "verb"), (node, "tense"), self.words["verbs"]
        if node.verb is None:
            return (auxiliaries["be"][person], (verb,)), []
        forms = node.verb.forms[self.language]
        if node.mood == "present":
            return (forms.present[person], (verb, tense)), [(forms.prefix, (verb,))] if forms.prefix else []
        if node.mood == "past":
            auxiliary = auxiliaries["be" if forms.with_be else "have"]
            return (auxiliary[person], (tense,)), [(self.participle(node, forms), (verb,))]
        return (auxiliaries[node.mood][person], (tense,)), [(forms.infinitive, (verb,))]

    def participle(self, node: Clause, forms: Conjugation) -> str:
        return forms.participle

    def time_and_topic(self, node: Clause, *, first: bool) -> None:
        """`first`: those that stand before the subject; otherwise the others."""
        if node.time_first == first:
            self.adverb(node.time, node, "time")
        if node.topic_first == first:
            self.topic(node)
            if first:
                self.write(self.comma, (node, "comma"))


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
        self.write(self.words["links"][node.link], (node.other, "link"))
        self.clause(node.other)
        if is_condition:
            self.write(self.comma, (node.other, "comma"))
            self.clause(node.main)

    def clause(self, node: Clause) -> None:
        self.time_and_topic(node, first=True)
        self.nominal(node.subject, "subject")
        self.verb(node)
        self.objects(node)
        self.prepositional(self.words["places"].get(node.where), (node, "place"), node.place)
        self.time_and_topic(node, first=False)
        if node.that:
            self.write(self.words["words"]["that"], (node, "that"))
            self.clause(node.that)

    def after_noun(self, node: Phrase, relative_pronoun: str) -> None:
        """What follows a noun: of whom, about what, and a relative clause."""
        self.prepositional(self.words["words"]["of"], (node, "of"), node.of)
        self.prepositional(self.words["words"]["about"], (node, "about"), node.about)
        if node.relative:
            self.write(relative_pronoun, (node, "relative"))
            self.clause(node.relative)

    def topic(self, node: Clause) -> None:
        self.prepositional(self.words["words"]["topic"], (node, "topic"), node.topic)

    def prepositional(self, preposition: Sequence[str] | None, meaning: Meaning, phrase: Phrase | None) -> None:
        if preposition and phrase:
            self.write(preposition, meaning)
            self.phrase(phrase)


def spell(tokens: Sequence[Token], language: str) -> str:
    """The usual spelling: no spaces in Chinese; elsewhere none before a stop or comma, none after an apostrophe. French
    has a space before ? and !."""
    text = ("" if language == "zh" else " ").join([word for word, _ in tokens])
    text = text.replace(" ,", ",").replace(" .", ".").replace("' ", "'")
    return text if language == "fr" else text.replace(" ?", "?").replace(" !", "!")


def align(source: Sequence[Token], target: Sequence[Token]) -> tuple[tuple[int, int], ...]:
    """Links (i, j) between words that express the same thing, sorted."""
    where: dict[Meaning, list[int]] = {}
    for j, (_, meanings) in enumerate(target):
        for meaning in meanings:
            where.setdefault(meaning, []).append(j)
    links = {(i, j) for i, (_, meanings) in enumerate(source) for meaning in meanings for j in where.get(meaning, ())}
    return tuple(sorted(links))


def positions(tokens: Sequence[Token], meaning: Meaning) -> tuple[int, ...]:
    return tuple(i for i, (_, meanings) in enumerate(tokens) if meaning in meanings)
