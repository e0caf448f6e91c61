"""English: the abstract sentence in words."""

from itertools import pairwise

from saccade.tasks.phrasebook.tree import THIRD, Clause, Phrase, agreement
from saccade.tasks.phrasebook.writer import PlainOrder, Token


class English(PlainOrder):
    language = "en"

    def finish(self) -> list[Token]:
        for place, ((word, meanings), (following, _)) in enumerate(pairwise(self.tokens)):
            if word == "a" and following[0] in "aeiou":
                self.tokens[place] = ("an", meanings)
        return self.tokens

    def phrase(self, node: Phrase) -> None:
        determiner = "these" if node.determiner == "this" and node.plural else node.determiner
        self.write(self.words["determiners"].get(determiner, (determiner,)), (node, "determiner"))
        for i, adjective in enumerate(node.adjectives):
            self.write(adjective.name, (node, f"adjective {i}"))
        self.write(node.noun.english[node.plural], (node, "noun"))
        is_person = node.relative is not None and node.relative.subject is None and "human" in node.noun.kinds
        self.after_noun(node, "who" if is_person else "that")

    def objects(self, node: Clause) -> None:
        self.write(node.verb.english_preposition if node.verb else "", (node, "preposition"))
        self.nominal(node.object, "object")
        self.nominal(node.recipient, "object", ("to", ((node, "to"),)))

    def verb(self, node: Clause) -> None:
        person, auxiliaries = agreement(node.doer), self.words["verbs"]
        verb, tense, negation = (node, "verb"), (node, "tense"), (node, "negation")
        if node.verb is None:
            assert node.predicate is not None
            self.write(auxiliaries["be"][person], verb)
            self.write("not" * node.negated, negation)
            self.write(node.degree, (node, "degree"))
            self.write(node.predicate.name, (node, "predicate"))
            return
        base, third, past = node.verb.english
        self.adverb(node.frequency, node, "frequency")
        self.adverb(node.manner, node, "manner")
        if node.mood in ("present", "past") and not node.negated:
            self.write(past if node.mood == "past" else third if person == THIRD else base, verb, tense)
            return
        if node.mood == "can" and node.negated:
            self.write("cannot", tense, negation)
        else:
            do = auxiliaries["do"][person]
            self.write({"present": do, "past": "did", "want": do * node.negated}.get(node.mood, node.mood), tense)
            self.write("not" * node.negated, negation)
        if node.mood == "want":
            self.write("wants to" if person == THIRD and not node.negated else "want to", tense)
        self.write(base, verb)
