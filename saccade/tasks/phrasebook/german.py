"""German: three genders, four cases, three declensions of the adjective, and where the verb goes.

The finite verb is second in a main clause and last in a subordinate one; infinitive, participle and separable prefix
close the bracket. The middle field runs: subject, pronouns, time, frequency, dative, accusative, manner, *nicht*,
place, prepositional object, topic.
"""

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import ACCUSATIVE, DATIVE, GENITIVE, NOMINATIVE
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, Statement, agreement
from saccade.tasks.phrasebook.writer import Token, Writer

PRONOUNS = {NOMINATIVE: "nominative", ACCUSATIVE: "accusative", DATIVE: "dative"}


class German(Writer):
    language = "german"

    def join(self, statement: Statement, join: str) -> None:
        link = (self.words["joins"][join][0], (statement.key + tree.LINK,))
        if join == "so":  # deshalb is an adverb: it takes the first place and the verb follows
            self.statement(statement, [link])
        else:
            self.tokens.append(link)
            self.statement(statement)

    def finish(self) -> list[Token]:
        """A comma that closes a clause is not written before another comma or the stop."""
        following = [word for word, _ in self.tokens[1:]] + [""]
        return [
            token
            for token, after in zip(self.tokens, following, strict=True)
            if token[0] != "," or after not in (",", ".")
        ]

    def statement(self, node: Statement, front: list[Token] | None = None) -> None:
        """`front` is what stands in the first place, before the finite verb."""
        other = node.other
        if other is None:
            self.main_clause(node.main, front or [])
        elif node.link == "if":
            start = len(self.tokens)
            self.write(self.words["links"]["if"], other.key + tree.LINK)
            self.final_clause(other)
            self.write(",", other.key + tree.COMMA)
            front, self.tokens = self.tokens[start:], self.tokens[:start]
            self.main_clause(node.main, front)
        else:
            self.main_clause(node.main, front or [])
            self.subordinate(self.words["links"][node.link], other.key + tree.LINK, other)

    def subordinate(self, word: str | tuple[str, ...], number: int, node: Clause, head: Phrase | None = None) -> None:
        """A clause between commas, with the verb last."""
        self.write(",")
        self.write(word, number)
        self.final_clause(node, head)
        self.write(",")

    def phrase(self, node: Phrase, case: int = NOMINATIVE, extra: tuple[int, ...] = ()) -> None:
        """`extra`: what a case expresses where English needs a word (*of*, *to*), carried by the determiner."""
        key, noun, plural = node.key, node.noun, node.plural
        stem, endings, adjective_endings = self.words["determiners"][node.determiner]
        self.write(stem + self.ending(endings, case, node), key + tree.DETERMINER, *extra)
        for i, adjective in enumerate(node.adjectives):
            word = adjective.german_stem + self.ending(adjective_endings, case, node)
            self.write(word, key + tree.FIRST_ADJECTIVE + i)
        self.write(noun.german[plural][case], key + tree.NOUN)
        if node.of:
            self.phrase(node.of, GENITIVE, (key + tree.OF,))
        if node.about:
            self.write("über", key + tree.ABOUT)
            self.phrase(node.about, ACCUSATIVE)
        if relative := node.relative:
            gap = NOMINATIVE
            if relative.subject is not None:
                assert relative.verb is not None
                gap = relative.verb.german_case
            self.subordinate(self.ending("relative", gap, node), key + tree.RELATIVE, relative, head=node)

    def ending(self, name: str, case: int, node: Phrase) -> str:
        endings = self.words["endings"][name]
        return endings[4 * case + (3 if node.plural else node.noun.german_gender)] if len(endings) > 1 else endings[0]

    def in_case(self, node: Nominal, case: int, extra: tuple[int, ...] = ()) -> None:
        if isinstance(node, Phrase):
            self.phrase(node, case, extra)
        elif isinstance(node, Pronoun):
            self.write(self.words["pronouns"][PRONOUNS[case]][node.which], node.key, *extra)
        else:
            self.phrase(node.first, case, extra)
            self.write("und", node.key + tree.AND)
            self.phrase(node.second, case)

    def prepositional(
        self, words: str | tuple[str, ...], number: int, node: Nominal, case: int, extra: tuple[int, ...] = ()
    ) -> None:
        self.write(words, number)
        start = len(self.tokens)
        self.in_case(node, case, extra)
        (preposition, numbers), (article, of_article) = self.tokens[start - 1 : start + 1]
        if merged := self.words["contracted"].get(f"{preposition} {article}"):
            self.tokens[start - 1 : start + 1] = [(merged[0], numbers + of_article)]

    def topic(self, node: Clause) -> None:
        if node.topic:
            self.prepositional("in", node.key + tree.TOPIC, node.topic, DATIVE)

    def main_clause(self, node: Clause, front: list[Token]) -> None:
        """Verb second, after `front`, a fronted adverbial or the subject; the bracket closes at the end."""
        assert node.subject is not None
        start = len(self.tokens)
        self.tokens += front
        if node.topic_first:
            self.topic(node)
        if node.time_first:
            self.adverb(node.time, node.key + tree.TIME)
        finite, bracket = self.verb_bracket(node, agreement(node.subject))
        if len(self.tokens) > start:
            self.tokens.append(finite)
            self.in_case(node.subject, NOMINATIVE)
        else:
            self.in_case(node.subject, NOMINATIVE)
            self.tokens.append(finite)
        self.middle(node)
        self.tokens += bracket
        self.reported(node)

    def final_clause(self, node: Clause, head: Phrase | None = None) -> None:
        """Verb last; a separable prefix is written together with its verb again."""
        subject = node.subject or head
        assert subject is not None
        if node.subject:
            self.in_case(node.subject, NOMINATIVE)
        self.middle(node)
        finite, bracket = self.verb_bracket(node, agreement(subject))
        if bracket and node.verb and bracket[0][0] == node.verb.german_prefix:
            self.tokens.append((bracket[0][0] + finite[0], finite[1]))
        else:
            self.tokens += [*bracket, finite]
        self.reported(node)

    def reported(self, node: Clause) -> None:
        if node.that:
            self.subordinate("dass", node.key + tree.THAT, node.that)

    def verb_bracket(self, node: Clause, person: int) -> tuple[Token, list[Token]]:
        """The finite verb, and what closes the bracket: prefix, participle or infinitive."""
        verb, tense, verbs = (node.key + tree.VERB,), (node.key + tree.TENSE,), self.words["verbs"]
        if node.verb is None:
            return (verbs["sein"][person], verb), []
        if node.mood == "present":
            prefix = node.verb.german_prefix
            return (node.verb.german[person], verb + tense), [(prefix, verb)] if prefix else []
        if node.mood == "past":
            auxiliary = verbs["sein" if node.verb.german_sein else "haben"]
            return (auxiliary[person], tense), [(node.verb.german_participle, verb)]
        return (verbs[node.mood][person], tense), [(node.verb.german_infinitive, verb)]

    def middle(self, node: Clause) -> None:
        key, verb, object_, recipient = node.key, node.verb, node.object, node.recipient
        case = verb.german_case if verb else NOMINATIVE
        plain = object_ is not None and verb is not None and not verb.german_preposition
        pronoun = plain and isinstance(object_, Pronoun)
        if object_ and pronoun:
            self.in_case(object_, case)
        if isinstance(recipient, Pronoun):
            self.in_case(recipient, DATIVE, (key + tree.TO,))
        if not node.time_first:
            self.adverb(node.time, key + tree.TIME)
        self.adverb(node.frequency, key + tree.FREQUENCY)
        if recipient and not isinstance(recipient, Pronoun):
            self.in_case(recipient, DATIVE, (key + tree.TO,))
        # kein carries the negation itself; *not* is then part of what it expresses
        none = isinstance(object_, Phrase) and object_.determiner == "any"
        extra = (key + tree.NEGATION,) if none else ()
        if object_ and plain and not pronoun:
            self.in_case(object_, case, extra)
        self.adverb(node.manner, key + tree.MANNER)
        if node.negated and not none:
            self.write("nicht", key + tree.NEGATION)
        if node.place:
            where, phrase = node.place
            place_case = GENITIVE if where == "near" else DATIVE  # in der Nähe des Hauses
            self.prepositional(self.words["places"][where], key + tree.PLACE, phrase, place_case)
        if object_ and verb and verb.german_preposition:
            self.prepositional(verb.german_preposition, key + tree.PREPOSITION, object_, case, extra)
        if not node.topic_first:
            self.topic(node)
        if node.predicate:
            if node.degree:
                self.write(self.words["degrees"][node.degree], key + tree.DEGREE)
            self.write(node.predicate.german, key + tree.PREDICATE)
