"""French: gender and number, adjectives on either side, clitics, *ne … pas*, elision and contraction."""

from itertools import pairwise

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import FEMININE
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, agreement
from saccade.tasks.phrasebook.writer import PlainOrder, Token

VOWELS = frozenset("aeiouhâàéèêëîïôûœ")
ASPIRATED = frozenset({"huit"})


class French(PlainOrder):
    language = "fr"

    def finish(self) -> list[Token]:
        """*le homme* → *l'homme*, *de le chien* → *du chien*, *si il* → *s'il*; elision comes before contraction."""
        out: list[Token] = []
        for (word, numbers), (following, _) in pairwise(self.tokens):
            if word in self.words["elided"] and _is_vowel(following):
                (word,) = self.words["elided"][word]
            elif word == "si" and following in ("il", "ils"):
                word = "s'"
            if out and (merged := self.words["contracted"].get(f"{out[-1][0]} {word}")):
                out[-1] = (merged[0], out[-1][1] + numbers)
            else:
                out.append((word, numbers))
        return [*out, self.tokens[-1]]

    def phrase(self, node: Phrase) -> None:
        key, form, word = node.key, _gender_and_number(node), node.noun.french[node.plural]
        group: list[Token] = [(part, (key + tree.NOUN,)) for part in word.split()]
        for i, adjective in enumerate(node.adjectives):
            numbers = (key + tree.FIRST_ADJECTIVE + i,)
            if adjective.before:
                before = adjective.french_vowel if form == 0 and _is_vowel(word) else adjective.french[form]
                group.insert(0, (before, numbers))
            else:
                group.append((adjective.french[form], numbers))
        forms = self.words["determiners"][node.determiner]
        determiner = forms[form] if len(forms) > 1 else forms[0]
        if _is_vowel(group[0][0]):
            (determiner,) = self.words["before_vowel"].get(determiner, (determiner,))
        self.write(determiner, key + tree.DETERMINER)
        self.tokens += group
        self.after_noun(node, "que" if node.relative and node.relative.subject else "qui")

    def objects(self, node: Clause) -> None:
        preposition = node.verb.french_preposition if node.verb else ""
        if node.object and not (isinstance(node.object, Pronoun) and preposition in ("", "à")):
            before = (preposition, (node.key + tree.PREPOSITION,)) if preposition else None
            self.nominal(node.object, "strong", before)
        if node.recipient and not isinstance(node.recipient, Pronoun):
            self.nominal(node.recipient, "strong", ("à", (node.key + tree.TO,)))

    def clitic(self, node: Clause, preposition: str) -> list[Token]:
        """The pronoun that stands before the verb, if there is one."""
        pronouns = self.words["pronouns"]
        if isinstance(node.recipient, Pronoun):
            return [(pronouns["indirect"][node.recipient.which], (node.recipient.key, node.key + tree.TO))]
        if isinstance(node.object, Pronoun) and preposition in ("", "à"):
            return [(pronouns["indirect" if preposition else "direct"][node.object.which], (node.object.key,))]
        return []

    def verb(self, node: Clause) -> None:
        key, person, auxiliaries = node.key, agreement(node.doer), self.words["verbs"]
        verb, tense, negation = key + tree.VERB, key + tree.TENSE, key + tree.NEGATION
        if node.negated or node.is_never:
            self.write("ne", negation if node.negated else key + tree.FREQUENCY)
        second: list[Token] = [("pas", (negation,))] if node.negated and not node.lacks_object else []
        if node.verb is None:
            assert node.predicate is not None
            self.write(auxiliaries["etre"][person], verb)
            self.tokens += second
            self.write(self.words["degrees"].get(node.degree, ""), key + tree.DEGREE)
            self.write(node.predicate.french[_gender_and_number(node.doer)], key + tree.PREDICATE)
            return
        clitic = self.clitic(node, node.verb.french_preposition)
        if node.mood == "present":
            self.tokens += clitic
            self.write(node.verb.french[person], verb, tense)
            self.tokens += second
        elif node.mood == "past":
            self.tokens += clitic
            self.write(auxiliaries["etre" if node.verb.french_etre else "avoir"][person], tense)
            self.tokens += second
            self.write(_participle(node), verb)
        else:
            self.write(auxiliaries[node.mood][person], tense)
            self.tokens += second + clitic
            self.write(node.verb.french_infinitive, verb)
        self.adverb(node.frequency, key + tree.FREQUENCY)
        self.adverb(node.manner, key + tree.MANNER)


def _is_vowel(word: str) -> bool:
    return word[0] in VOWELS and word not in ASPIRATED


def _gender_and_number(node: Nominal) -> int:
    """0 m sg, 1 f sg, 2 m pl, 3 f pl; a speaker of unknown gender is masculine by convention."""
    if isinstance(node, Phrase):
        return node.noun.french_gender + 2 * node.plural
    if isinstance(node, Pronoun):
        return (0, 0, 0, 1, 2, 2)[node.which]
    return 2 + (node.first.noun.french_gender == node.second.noun.french_gender == FEMININE)


def _participle(node: Clause) -> str:
    """With *être* it agrees with the subject, with *avoir* with a direct object that comes before it."""
    assert node.verb is not None
    before = node.object if isinstance(node.object, Pronoun) else node.fronted
    agrees_with = node.doer if node.verb.french_etre else None if node.verb.french_preposition else before
    form = _gender_and_number(agrees_with) if agrees_with else 0
    feminine = node.verb.french_participle + "e" * (form % 2)
    return feminine + "s" * (form > 1 and not feminine.endswith("s"))
