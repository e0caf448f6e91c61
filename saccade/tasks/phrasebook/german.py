"""German: three genders, four cases, three declensions of the adjective, and where the verb goes.

The finite verb is second in a main clause and last in a subordinate one; infinitive, participle and separable prefix
close the bracket. The middle field runs: subject, pronouns, time, frequency, dative, accusative, manner, *nicht*,
place, prepositional object, topic.
"""

from collections.abc import Sequence
from itertools import pairwise

from saccade.tasks.phrasebook.lexicon import ACCUSATIVE, DATIVE, GENITIVE, NOMINATIVE
from saccade.tasks.phrasebook.tree import Clause, Meaning, Nominal, Phrase, Pronoun, Statement
from saccade.tasks.phrasebook.writer import Token, Writer

PRONOUNS = {NOMINATIVE: "nominative", ACCUSATIVE: "accusative", DATIVE: "dative"}


class German(Writer):
    language = "de"

    def finish(self) -> list[Token]:
        """A comma that closes a clause is not written before another comma or the stop."""
        pairs = pairwise(self.tokens)
        written = [token for token, after in pairs if token[0] != "," or after[0] not in (",", ".")]
        return [*written, self.tokens[-1]]

    def statement(self, node: Statement) -> None:
        start = len(self.tokens) - (node.join == "so")  # deshalb is an adverb: it takes the first place
        other = node.other
        if other and node.link == "if":
            self.write(self.words["links"]["if"], (other, "link"))
            self.final_clause(other)
            self.write(",", (other, "comma"))
        self.main_clause(node.main, start)
        if other and node.link != "if":
            self.subordinate(self.words["links"][node.link], (other, "link"), other)

    def subordinate(self, word: str | Sequence[str], meaning: Meaning, node: Clause) -> None:
        """A clause between commas, with the verb last."""
        self.write(",")
        self.write(word, meaning)
        self.final_clause(node)
        self.write(",")

    def phrase(self, node: Phrase, case: int = NOMINATIVE, extra: tuple[Meaning, ...] = ()) -> None:
        """`extra`: what a case expresses where English needs a word (*of*, *to*), carried by the determiner."""
        stem, endings, adjective_endings = self.words["determiners"][node.determiner]
        self.write(stem + self.ending(endings, case, node), (node, "determiner"), *extra)
        for i, adjective in enumerate(node.adjectives):
            word = adjective.german_stem + self.ending(adjective_endings, case, node)
            self.write(word, (node, f"adjective {i}"))
        self.write(node.noun.german[node.plural][case], (node, "noun"))
        self.in_case(node.of, GENITIVE, ((node, "of"),))
        self.prepositional("über", (node, "about"), node.about, ACCUSATIVE)
        if relative := node.relative:
            gap = relative.verb.german_case if relative.subject and relative.verb else NOMINATIVE
            self.subordinate(self.ending("relative", gap, node), (node, "relative"), relative)

    def ending(self, name: str, case: int, node: Phrase) -> str:
        endings = self.words["endings"][name]
        return endings[4 * case + (3 if node.plural else node.noun.german_gender)] if len(endings) > 1 else endings[0]

    def in_case(self, node: Nominal | None, case: int, extra: tuple[Meaning, ...] = ()) -> None:
        if isinstance(node, Phrase):
            self.phrase(node, case, extra)
        elif isinstance(node, Pronoun):
            self.write(self.words["pronouns"][PRONOUNS[case]][node.which], (node, "pronoun"), *extra)
        elif node:
            self.phrase(node.first, case, extra)
            self.write("und", (node, "and"))
            self.phrase(node.second, case)

    def prepositional(
        self, words: str | Sequence[str], meaning: Meaning, node: Nominal | None, case: int, *extra: Meaning
    ) -> None:
        if not node:
            return
        self.write(words, meaning)
        start = len(self.tokens)
        self.in_case(node, case, extra)
        (preposition, meanings), (article, of_article) = self.tokens[start - 1 : start + 1]
        if merged := self.words["contracted"].get(f"{preposition} {article}"):
            self.tokens[start - 1 : start + 1] = [(merged[0], meanings + of_article)]

    def topic(self, node: Clause) -> None:
        self.prepositional("in", (node, "topic"), node.topic, DATIVE)

    def main_clause(self, node: Clause, start: int) -> None:
        """Verb second, after the subject or what stands in the first place, from `start` on; the bracket closes at the
        end."""
        if node.topic_first:
            self.topic(node)
        if node.time_first:
            self.adverb(node.time, node, "time")
        finite, bracket = self.bracket(node)
        front = len(self.tokens)
        self.in_case(node.doer, NOMINATIVE)
        self.tokens.insert(front if front > start else len(self.tokens), finite)
        self.middle(node)
        self.tokens += bracket
        self.reported(node)

    def final_clause(self, node: Clause) -> None:
        """Verb last; a separable prefix is written together with its verb again."""
        self.in_case(node.subject, NOMINATIVE)
        self.middle(node)
        finite, bracket = self.bracket(node)
        if bracket and node.mood == "present":
            self.tokens.append((bracket[0][0] + finite[0], finite[1]))
        else:
            self.tokens += [*bracket, finite]
        self.reported(node)

    def reported(self, node: Clause) -> None:
        if node.that:
            self.subordinate("dass", (node, "that"), node.that)

    def middle(self, node: Clause) -> None:
        verb, object_ = node.verb, node.object
        case = verb.german_case if verb else NOMINATIVE
        preposition = verb.german_preposition if verb else ""
        # kein carries the negation itself; *not* is then part of what it expresses
        extra = ((node, "negation"),) if node.lacks_object else ()
        if isinstance(object_, Pronoun) and not preposition:
            self.in_case(object_, case)
        if isinstance(node.recipient, Pronoun):
            self.in_case(node.recipient, DATIVE, ((node, "to"),))
        if not node.time_first:
            self.adverb(node.time, node, "time")
        self.adverb(node.frequency, node, "frequency")
        if isinstance(node.recipient, Phrase):
            self.in_case(node.recipient, DATIVE, ((node, "to"),))
        if object_ and not isinstance(object_, Pronoun) and not preposition:
            self.in_case(object_, case, extra)
        self.adverb(node.manner, node, "manner")
        self.write("nicht" * (node.negated and not node.lacks_object), (node, "negation"))
        place_case = GENITIVE if node.where == "near" else DATIVE  # in der Nähe des Hauses
        self.prepositional(self.words["places"].get(node.where, ""), (node, "place"), node.place, place_case)
        if preposition:
            self.prepositional(preposition, (node, "preposition"), object_, case, *extra)
        if not node.topic_first:
            self.topic(node)
        if node.predicate:
            self.write(self.words["degrees"].get(node.degree, ""), (node, "degree"))
            self.write(node.predicate.german, (node, "predicate"))
