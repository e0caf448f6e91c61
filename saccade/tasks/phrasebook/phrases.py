"""Draw noun phrases, and let them grow by an adjective, an owner or a relative clause.

`left` is the number of English words that the current statement may still get; each part subtracts its own. Only
`random()` of the generator is used, because it alone is guaranteed to be the same in every Python version.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.choices import choices
from saccade.tasks.phrasebook.lexicon import Adjective, Noun, Topic, Verb
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
        self.random = random
        self.choices = choices(split)
        self.key = 0
        self.left = 0
        self.topical = True  # whether the sentence may mention topics

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def new_key(self) -> int:
        self.key += tree.STRIDE
        return self.key

    def pronoun(self, which: int) -> Pronoun:
        self.left -= 1
        return Pronoun(self.new_key(), which)

    def subject(self, verb: Verb, negated: bool, spare: int) -> Pronoun | Phrase:
        pronouns = self.choices.subject_pronouns.get(verb)
        if pronouns and self.chance(1.0 if spare < 2 else 0.5 if spare < 5 else 0.2):
            return self.pronoun(self.pick(pronouns))
        return self.phrase(self.pick(self.choices.subjects[verb]), subject=not negated)

    def object(self, node: Clause) -> Nominal:
        verb = node.verb
        assert verb is not None
        pronouns = self.choices.object_pronouns.get(verb)
        if pronouns and self.chance(0.8 if self.left < 2 else 0.12):
            which = self.pick(pronouns)
            if not self.same_person(node.subject, which):
                return self.pronoun(which)
        if self.topical and not node.negated and "topic" in verb.objects and self.chance(0.25):
            return self.generic(self.pick(self.choices.topics))
        definite = "state" in verb.flags and verb.name != "have" and not node.negated  # one likes the wine, not a wine
        return self.phrase(self.pick(self.choices.objects[verb]), node.negated, definite=definite)

    def recipient(self, node: Clause) -> None:
        which = self.pick((0, 1, 2, 4, 5))
        if self.chance(0.3) and not self.same_person(node.subject, which):
            node.recipient = self.pronoun(which)
        else:
            node.recipient = self.phrase(self.pick(self.choices.people), definite=True)

    def same_person(self, subject: Nominal | None, which: int) -> bool:
        """*I help us*, *he thanks him*: wrong or unclear with a pronoun of the same person."""
        return isinstance(subject, Pronoun) and (0, 1, 2, 2, 0, 2)[subject.which] == (0, 1, 2, 2, 0, 2)[which]

    def generic(self, noun: Noun) -> Phrase:
        self.left -= 1
        return Phrase(self.new_key(), noun, "generic", isinstance(noun, Topic) and noun.plural)

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
        return Phrase(self.new_key(), noun, determiner, plural)

    def grow_phrase(self, node: Phrase, heavy: bool = True) -> bool:
        if node.determiner == "generic":
            return False
        drawn = self.random()
        if drawn < 0.6 or not heavy or self.left < 3:
            return self.grow_adjective(node)
        if drawn < 0.75:
            return self.grow_owner(node)
        return self.grow_relative(node)

    def grow_adjective(self, node: Phrase) -> bool:
        name, present = node.noun.name, node.adjectives
        if not present and self.chance(0.5) and (before := self.choices.before[name]):
            node.adjectives = (self.pick(before),)
        elif (not present or self.is_short(present)) and (after := self.choices.after[name]):
            node.adjectives = (*present, self.pick(after))
        else:
            return False
        self.left -= 1
        return True

    def is_short(self, adjectives: tuple[Adjective, ...]) -> bool:
        """Whether a second adjective may follow: only one that Chinese writes without 的, since two 的 in a row read
        badly."""
        return len(adjectives) == 1 and adjectives[0].before and not adjectives[0].chinese.endswith("的")

    def grow_owner(self, node: Phrase) -> bool:
        fits = node.determiner == "the" and node.relative is None and node.of is None and node.about is None
        if not fits or node.noun.kinds.isdisjoint({"owned", "kin", "animal"}):
            return False
        self.left -= 1
        node.of = self.phrase(self.pick(self.choices.people), definite=True)
        return True

    def grow_relative(self, node: Phrase) -> bool:
        if node.determiner not in DESCRIBED or node.relative or node.of or node.about:
            return False
        name = node.noun.name
        doers, undergoers = self.choices.doers.get(name), self.choices.undergoers[name]
        if doers and (not undergoers or self.chance(0.5)):
            return self.relative_subject(node, self.pick(doers))
        return bool(undergoers) and self.relative_object(node, self.pick(undergoers))

    def relative_subject(self, head: Phrase, verb: Verb) -> bool:
        """*who eats the apple*."""
        need = 2 + bool(verb.english_preposition) + 2 * bool(verb.objects)
        noun = self.pick(self.choices.objects[verb]) if verb.objects else None
        if self.left < need or noun is head.noun:
            return False
        self.left -= need - 2 * bool(verb.objects)
        node = Clause(self.new_key(), None, verb)
        if noun:
            node.object = self.phrase(noun)
            # 了 without an object does not go well before 的
            node.mood = "past" if "past" in self.choices.moods[verb] and self.chance(0.4) else "present"
            if self.left > 0 and self.chance(0.3):
                self.grow_adjective(node.object)
        head.relative = node
        return True

    def relative_object(self, head: Phrase, verb: Verb) -> bool:
        """*that the boy eats*."""
        noun = self.pick(self.choices.subjects[verb])
        if self.left < 3 or noun is head.noun:
            return False
        self.left -= 2
        pronouns = self.choices.subject_pronouns.get(verb)
        node = Clause(self.new_key(), None, verb)
        if pronouns and (self.left < 2 or self.chance(0.4)):
            node.subject = self.pronoun(self.pick(pronouns))
        else:
            node.subject = self.phrase(noun, definite=True)
        node.mood = "past" if "past" in self.choices.moods[verb] and self.chance(0.4) else "present"
        head.relative = node
        return True
