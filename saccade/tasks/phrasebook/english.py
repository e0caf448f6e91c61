"""English: the abstract sentence in words."""

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, agreement
from saccade.tasks.phrasebook.writer import PlainOrder, Token


class English(PlainOrder):
    language = "english"

    def finish(self) -> list[Token]:
        following = [word for word, _ in self.tokens[1:]]
        for place, ((word, numbers), after) in enumerate(zip(self.tokens, following, strict=False)):
            if word == "a" and after[0] in "aeiou":
                self.tokens[place] = ("an", numbers)
        return self.tokens

    def phrase(self, node: Phrase) -> None:
        key = node.key
        determiner = "these" if node.determiner == "this" and node.plural else node.determiner
        self.write(self.words["determiners"].get(determiner, (determiner,)), key + tree.DETERMINER)
        for i, adjective in enumerate(node.adjectives):
            self.write(adjective.name, key + tree.FIRST_ADJECTIVE + i)
        self.write(node.noun.english[node.plural], key + tree.NOUN)
        self.modifiers(node)
        if node.relative:
            who = node.relative.subject is None and "human" in node.noun.kinds
            self.write("who" if who else "that", key + tree.RELATIVE)
            self.clause(node.relative, head=node)

    def objects(self, node: Clause) -> None:
        if node.verb and node.verb.english_preposition:
            self.write(node.verb.english_preposition, node.key + tree.PREPOSITION)
        if node.object:
            self.nominal(node.object, "object")
        if node.recipient:
            self.nominal(node.recipient, "object", ("to", (node.key + tree.TO,)))

    def verb(self, node: Clause, subject: Nominal, head: Phrase | None) -> None:
        key, person = node.key, agreement(subject)
        verb, tense, negation = key + tree.VERB, key + tree.TENSE, key + tree.NEGATION
        if node.verb is None:
            assert node.predicate is not None
            self.write(self.words["verbs"]["be"][person], verb)
            if node.negated:
                self.write("not", negation)
            self.write(node.degree, key + tree.DEGREE)
            self.write(node.predicate.name, key + tree.PREDICATE)
            return
        base, third, past = node.verb.english
        self.adverb(node.frequency, key + tree.FREQUENCY)
        self.adverb(node.manner, key + tree.MANNER)
        if node.mood in ("present", "past") and not node.negated:
            self.write(past if node.mood == "past" else third if person == tree.THIRD else base, verb, tense)
            return
        if node.mood in ("present", "past", "want"):
            if node.negated:
                self.write("did" if node.mood == "past" else self.words["verbs"]["do"][person], tense)
                self.write("not", negation)
            if node.mood == "want":
                self.write("wants to" if person == tree.THIRD and not node.negated else "want to", tense)
        elif node.mood == "can" and node.negated:
            self.write("cannot", tense, negation)
        else:
            self.write(node.mood, tense)
            if node.negated:
                self.write("not", negation)
        self.write(base, verb)
