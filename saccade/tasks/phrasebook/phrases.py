"""Draw noun phrases, and let them grow by an adjective, an owner or a relative clause.

`left` is the number of English words that the current statement may still get; each part subtracts its own. Only
`random()` of the generator is used, because it alone is guaranteed to be the same in every Python version.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.combinations import choices
from saccade.tasks.phrasebook.lexicon import Noun, Verb
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun

T = TypeVar("T")

DEMONSTRATIVES = ("this", *tree.POSSESSIVES)
SINGULAR = ("the",) * 9 + ("a",) * 5 + DEMONSTRATIVES
PLURAL = ("the",) * 12 + ("this", "some", "many", "several") * 3 + tree.NUMERALS
# After a negation, only what all four languages express alike: a definite object, or any / aucun / kein / 任何.
NEGATED_SINGULAR = ("the",) * 6 + DEMONSTRATIVES + ("any",) * 6
DEFINITE_SINGULAR = ("the", "the", *DEMONSTRATIVES)
DEFINITE_PLURAL = ("the", "the", "this")
DESCRIBED = frozenset({"the", "a", "this", "some", "many", "several", *tree.NUMERALS})  # may take a relative clause


class PhraseSampler:
    def __init__(self, split: str, random: Callable[[], float]) -> None:
        self.split, self.random, self.choices = split, random, choices(split)
        self.left = 0
        self.topical = True  # whether the sentence may mention topics

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pronoun(self, which: int) -> Pronoun:
        self.left -= 1
        return Pronoun(which)

    def subject(self, verb: Verb, negated: bool, spare: int) -> Pronoun | Phrase:
        pronouns = self.choices.subject_pronouns.get(verb)
        if pronouns and self.chance(1.0 if spare < 2 else 0.5 if spare < 5 else 0.2):
            return self.pronoun(self.pick(pronouns))
        return self.phrase(self.pick(self.choices.subjects[verb]), subject=not negated)

    def object(self, node: Clause, verb: Verb) -> Nominal:
        pronouns = self.choices.object_pronouns.get(verb)
        if pronouns and self.chance(0.8 if self.left < 2 else 0.12):
            which = self.pick(pronouns)
            if not _is_same_person(node.subject, which):
                return self.pronoun(which)
        if self.topical and not node.negated and "topic" in verb.objects and self.chance(0.25):
            return self.generic(self.pick(self.choices.topics))
        definite = "state" in verb.flags and verb.name != "have" and not node.negated  # one likes the wine, not a wine
        return self.phrase(self.pick(self.choices.objects[verb]), node.negated, definite=definite)

    def recipient(self, subject: Nominal) -> Nominal:
        which = self.pick((0, 1, 2, 4, 5))
        if self.chance(0.3) and not _is_same_person(subject, which):
            return self.pronoun(which)
        return self.phrase(self.pick(self.choices.people), definite=True)

    def generic(self, noun: Noun) -> Phrase:
        self.left -= 1
        return Phrase(noun, "generic", noun.plural)

    def phrase(self, noun: Noun, negated: bool = False, *, subject: bool = False, definite: bool = False) -> Phrase:
        """A noun with its determiner."""
        self.left -= 2
        plural = not noun.mass and self.chance(0.3)
        if negated or definite:
            determiner = self.pick(DEFINITE_PLURAL if plural else NEGATED_SINGULAR if negated else DEFINITE_SINGULAR)
        elif subject and self.chance(0.07):
            determiner = "all" if plural else "every"
            self.left -= plural
        else:
            determiner = self.pick(PLURAL if plural else SINGULAR)
        if determiner in tree.POSSESSIVES and "unowned" in noun.kinds:
            determiner = "the"
        return Phrase(noun, determiner, plural)

    # Growth: each method adds one thing if it can, and returns whether it did

    def grow_phrase(self, node: Phrase, heavy: bool = True) -> bool:
        if node.determiner == "generic":
            return False
        chance = self.random()
        if chance < 0.6 or not heavy or self.left < 3:
            return self.grow_adjective(node)
        if node.relative or node.of or node.about:
            return False
        return self.grow_owner(node) if chance < 0.75 else self.grow_relative(node)

    def grow_adjective(self, node: Phrase) -> bool:
        name, present = node.noun.name, node.adjectives
        # A second one follows only one that Chinese writes without 的, since two 的 in a row read badly.
        may_follow = len(present) == 1 and present[0].before and not present[0].chinese.endswith("的")
        if not present and self.chance(0.5) and (before := self.choices.before[name]):
            node.adjectives = (self.pick(before),)
        elif (not present or may_follow) and (after := self.choices.after[name]):
            node.adjectives = (*present, self.pick(after))
        else:
            return False
        self.left -= 1
        return True

    def grow_owner(self, node: Phrase) -> bool:
        if node.determiner != "the" or node.noun.kinds.isdisjoint({"owned", "kin", "animal"}):
            return False
        self.left -= 1
        node.of = self.phrase(self.pick(self.choices.people), definite=True)
        return True

    def grow_relative(self, node: Phrase) -> bool:
        if node.determiner not in DESCRIBED:
            return False
        doers, undergoers = self.choices.doers.get(node.noun.name), self.choices.undergoers[node.noun.name]
        if doers and (not undergoers or self.chance(0.5)):
            return self.relative_subject(node, self.pick(doers))
        return bool(undergoers) and self.relative_object(node, self.pick(undergoers))

    def relative_subject(self, head: Phrase, verb: Verb) -> bool:
        """*who eats the apple*."""
        need = 2 + bool(verb.english_preposition)
        noun = self.pick(self.choices.objects[verb]) if verb.objects else None
        if self.left < need + 2 * bool(noun) or noun is head.noun:
            return False
        self.left -= need
        head.describe(node := Clause(None, verb))
        if noun:
            node.object = self.phrase(noun)
            node.mood = self.relative_mood(verb)  # 了 without an object does not go well before 的
            if self.left > 0 and self.chance(0.3):
                self.grow_adjective(node.object)
        return True

    def relative_object(self, head: Phrase, verb: Verb) -> bool:
        """*that the boy eats*."""
        noun = self.pick(self.choices.subjects[verb])
        if self.left < 3 or noun is head.noun:
            return False
        self.left -= 2
        head.describe(node := Clause(None, verb))
        pronouns = self.choices.subject_pronouns.get(verb)
        if pronouns and (self.left < 2 or self.chance(0.4)):
            node.subject = self.pronoun(self.pick(pronouns))
        else:
            node.subject = self.phrase(noun, definite=True)
        node.mood = self.relative_mood(verb)
        return True

    def relative_mood(self, verb: Verb) -> str:
        return "past" if "past" in self.choices.moods[verb] and self.chance(0.4) else "present"


def _is_same_person(subject: Nominal | None, which: int) -> bool:
    """*I help us*, *he thanks him*: wrong or unclear with a pronoun of the same person."""
    persons = (0, 1, 2, 2, 0, 2)
    return isinstance(subject, Pronoun) and persons[subject.which] == persons[which]
