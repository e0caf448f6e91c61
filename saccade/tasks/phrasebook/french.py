"""French: gender and number, adjectives on either side, clitics, *ne … pas*, elision and contraction."""

from itertools import pairwise

from saccade.tasks.phrasebook.lexicon import FEMININE, Conjugation
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun
from saccade.tasks.phrasebook.writer import PlainOrder, Token

VOWELS = frozenset("aeiouhâàéèêëîïôûœ")
ASPIRATED = frozenset({"huit"})


class French(PlainOrder):
    language = "fr"

    def finish(self) -> list[Token]:
        """*le homme* → *l'homme*, *de le chien* → *du chien*, *si il* → *s'il*; elision comes before contraction."""
        out: list[Token] = []
        for (word, meanings), (following, _) in pairwise(self.tokens):
            if word in self.words["elided"] and _is_vowel(following):
                (word,) = self.words["elided"][word]
            elif word == "si" and following in ("il", "ils"):
                word = "s'"
            if out and (merged := self.words["contracted"].get(f"{out[-1][0]} {word}")):
                out[-1] = (merged[0], out[-1][1] + meanings)
            else:
                out.append((word, meanings))
        return [*out, self.tokens[-1]]

    def phrase(self, node: Phrase) -> None:
        form, word = _gender_and_number(node), node.noun.french[node.plural]
        group: list[Token] = [(part, ((node, "noun"),)) for part in word.split()]
        for i, adjective in enumerate(node.adjectives):
            meanings = ((node, f"adjective {i}"),)
            if adjective.before:
                before = adjective.french_vowel if form == 0 and _is_vowel(word) else adjective.french[form]
                group.insert(0, (before, meanings))
            else:
                group.append((adjective.french[form], meanings))
        forms = self.words["determiners"][node.determiner]
        determiner = forms[form] if len(forms) > 1 else forms[0]
        if _is_vowel(group[0][0]):
            (determiner,) = self.words["before_vowel"].get(determiner, (determiner,))
        self.write(determiner, (node, "determiner"))
        self.tokens += group
        self.after_noun(node, "que" if node.relative and node.relative.subject else "qui")

    def objects(self, node: Clause) -> None:
        preposition = node.verb.french_preposition if node.verb else ""
        if node.object and not (isinstance(node.object, Pronoun) and preposition in ("", "à")):
            before = (preposition, ((node, "preposition"),)) if preposition else None
            self.nominal(node.object, "strong", before)
        if node.recipient and not isinstance(node.recipient, Pronoun):
            self.nominal(node.recipient, "strong", ("à", ((node, "to"),)))

    def clitic(self, node: Clause) -> list[Token]:
        """The pronoun that stands before the verb, if there is one."""
        pronouns, preposition = self.words["pronouns"], node.verb.french_preposition if node.verb else ""
        if isinstance(node.recipient, Pronoun):
            return [(pronouns["indirect"][node.recipient.which], ((node.recipient, "pronoun"), (node, "to")))]
        if isinstance(node.object, Pronoun) and preposition in ("", "à"):
            form = pronouns["indirect" if preposition else "direct"][node.object.which]
            return [(form, ((node.object, "pronoun"),))]
        return []

    def verb(self, node: Clause) -> None:
        negation = (node, "negation")
        if node.negated or node.is_never:
            self.write("ne", negation if node.negated else (node, "frequency 1"))
        clitic, (finite, rest) = self.clitic(node), self.bracket(node)
        is_modal = node.mood not in ("present", "past")
        self.tokens += [finite] if is_modal else [*clitic, finite]
        if node.negated and not node.lacks_object:
            self.write("pas", negation)
        self.tokens += [*clitic, *rest] if is_modal else rest
        if node.predicate:
            self.write(self.words["degrees"].get(node.degree, ""), (node, "degree"))
            self.write(node.predicate.french[_gender_and_number(node.doer)], (node, "predicate"))
        self.adverb(node.frequency, node, "frequency")
        self.adverb(node.manner, node, "manner")

    def participle(self, node: Clause, forms: Conjugation) -> str:
        """With *être* it agrees with the subject, with *avoir* with a direct object that comes before it."""
        before = node.object if isinstance(node.object, Pronoun) else node.fronted
        is_direct = node.verb is not None and not node.verb.french_preposition
        agrees_with = node.doer if forms.with_be else before if is_direct else None
        form = _gender_and_number(agrees_with) if agrees_with else 0
        feminine = forms.participle + "e" * (form % 2)
        return feminine + "s" * (form > 1 and not feminine.endswith("s"))


def _is_vowel(word: str) -> bool:
    return word[0] in VOWELS and word not in ASPIRATED


def _gender_and_number(node: Nominal) -> int:
    """0 m sg, 1 f sg, 2 m pl, 3 f pl; a speaker of unknown gender is masculine by convention."""
    if isinstance(node, Phrase):
        return node.noun.french_gender + 2 * node.plural
    if isinstance(node, Pronoun):
        return (0, 0, 0, 1, 2, 2)[node.which]
    return 2 + (node.first.noun.french_gender == node.second.noun.french_gender == FEMININE)
