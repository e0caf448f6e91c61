"""English: the abstract sentence in words."""

from itertools import pairwise

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.tree import Clause, Phrase, agreement
from saccade.tasks.phrasebook.writer import PlainOrder, Token


class English(PlainOrder):
    language = "en"

    def finish(self) -> list[Token]:
        for place, ((word, numbers), (following, _)) in enumerate(pairwise(self.tokens)):
            if word == "a" and following[0] in "aeiou":
                self.tokens[place] = ("an", numbers)
        return self.tokens

    def phrase(self, node: Phrase) -> None:
        determiner = "these" if node.determiner == "this" and node.plural else node.determiner
        self.write(self.words["determiners"].get(determiner, (determiner,)), node.key + tree.DETERMINER)
        for i, adjective in enumerate(node.adjectives):
            self.write(adjective.name, node.key + tree.FIRST_ADJECTIVE + i)
        self.write(node.noun.english[node.plural], node.key + tree.NOUN)
        is_person = node.relative is not None and node.relative.subject is None and "human" in node.noun.kinds
        self.after_noun(node, "who" if is_person else "that")

    def objects(self, node: Clause) -> None:
        if node.verb and node.verb.english_preposition:
            self.write(node.verb.english_preposition, node.key + tree.PREPOSITION)
        if node.object:
            self.nominal(node.object, "object")
        if node.recipient:
            self.nominal(node.recipient, "object", ("to", (node.key + tree.TO,)))

    def verb(self, node: Clause) -> None:
        key, person, auxiliaries = node.key, agreement(node.doer), self.words["verbs"]
        verb, tense, negation = key + tree.VERB, key + tree.TENSE, key + tree.NEGATION
        if node.verb is None:
            assert node.predicate is not None
            self.write(auxiliaries["be"][person], verb)
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
                self.write("did" if node.mood == "past" else auxiliaries["do"][person], tense)
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
