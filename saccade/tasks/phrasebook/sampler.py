"""Draw abstract sentences: a core that fits the room, then growth by one modifier after another until it is full.

Room is counted in English words. The lengths in other languages follow it closely, so that few sentences must be drawn
again.
"""

from collections.abc import Callable

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.choices import MOOD_WORDS
from saccade.tasks.phrasebook.lexicon import Noun, Verb
from saccade.tasks.phrasebook.phrases import PhraseSampler
from saccade.tasks.phrasebook.split import PRONOUN_NAMES
from saccade.tasks.phrasebook.tree import Clause, Coordination, Nominal, Phrase, Pronoun, Sentence, Statement

NEARBY = ("the",) * 5 + ("a", "this", "our")
PLACES = ("in",) * 4 + ("near", "behind", "before", "by")
JOINS = ("and",) * 3 + ("but",) * 2 + ("or", "so")
LINKS = ("because", "because", "when", "if")
LOCATIVE = frozenset({"home", "goal", "room", "building"})


class Sampler(PhraseSampler):
    def __init__(self, split: str, random: Callable[[], float]) -> None:
        super().__init__(split, random)
        self.growths: tuple[Callable[[Clause, bool], bool], ...] = (
            self.grow_subject,
            self.grow_subject,
            self.grow_object,
            self.grow_object,
            self.grow_time,
            self.grow_place,
            self.grow_manner,
            self.grow_frequency,
            self.grow_topic,
        )

    # Sentences and statements

    def sentence(self, length: int) -> Sentence:
        """Draw about `length` English words, including the full stop."""
        self.key = 0
        out = Sentence([])
        self.fill(out, length - 1)
        return out

    def fill(self, out: Sentence, room: int) -> None:
        """Add statements to the end of `out` until `room` words are used."""
        self.left = 0
        while room >= 2:
            join = ""
            if out.statements:
                join = self.join(out)
                room -= 2
            size = room
            if room > 16 or (room > 10 and self.chance(0.5)):
                size = 5 + int(self.random() * min(9, room - 10))
            room -= size
            self.left += size
            out.statements.append(self.statement(first=join != "so"))
            if join:
                out.joins.append(join)
            if room < 5:
                break
        if room + self.left >= 7 and len(out.statements) < 40:
            self.fill(out, room + self.left)

    def join(self, out: Sentence) -> str:
        """A conjunction; two 所以 in a row, from *because* or *so*, would read badly."""
        has_result = out.statements[-1].link == "because" or out.joins[-1:] == ["so"]
        return self.pick(JOINS[:-1] if has_result else JOINS)

    def statement(self, *, first: bool) -> Statement:
        """`first`: whether a clause or an adverbial may stand before the subject; not after *so*."""
        key = self.new_key()
        room = self.left
        link = self.pick(LINKS) if first and room >= 8 and self.chance(0.4) else ""
        if not link:
            return Statement(key, self.clause(first=first))
        spend = 3 + int(self.random() * (room - 7))
        self.left = spend
        moods = {"when": ("past",), "if": ("present", "present", "can", "want"), "because": ()}[link]
        other = self.clause(first=False, moods=moods, negatable=link != "when")
        self.left += room - spend - (2 if link == "if" else 1)
        moods = {"when": ("past",), "if": ("will", "will", "can", "must", "should"), "because": ()}[link]
        return Statement(key, self.clause(first=first and link == "because", moods=moods), link, other)

    # Clauses

    def clause(self, *, first: bool, moods: tuple[str, ...] = (), negatable: bool = True) -> Clause:
        """Draw one clause that uses all of `left`; `moods` restricts its mood (past, will, …)."""
        node = self.core(moods, negatable)
        growths = list(self.growths)
        while self.left > 0 and growths:
            i = int(self.random() * len(growths))
            if not growths[i](node, first):
                growths[i] = growths[-1]
                growths.pop()
        return node

    def core(self, moods: tuple[str, ...], negatable: bool) -> Clause:
        room, drawn = self.left, self.random()
        if not moods and room >= 4 and drawn < 0.12:
            return self.copula(negatable)
        if not moods and room >= 8 and drawn < 0.24:
            return self.reported()
        if room >= 7 and drawn < 0.36:
            return self.verbal(self.choices.ditransitive, moods, negatable)
        if room >= 3 and drawn < 0.85:
            return self.verbal(self.choices.transitive, moods, negatable)
        return self.verbal(self.choices.intransitive, moods, negatable)

    def verbal(self, verbs: list[Verb], moods: tuple[str, ...], negatable: bool) -> Clause:
        verb = self.pick(verbs)
        while not (fitting := self.choices.moods[verb] if not moods else self.fit(verb, moods)):
            verb = self.pick(verbs)
        node = Clause(self.new_key(), None, verb, self.pick(fitting) if self.left > 3 or moods else fitting[0])
        # the words of the verb and of the shortest subject, object and recipient
        floor = 2 + bool(verb.english_preposition) + 2 * bool(verb.objects) + 2 * ("ditransitive" in verb.flags)
        self.left -= 1 + bool(verb.english_preposition) + MOOD_WORDS[node.mood]
        if negatable and self.left > floor and self.chance(0.15):
            self.negate(node, verb)
        spare = self.left - 2 * bool(verb.objects) - 2 * ("ditransitive" in verb.flags)
        node.subject = self.subject(verb, node.negated, spare)
        if "ditransitive" in verb.flags:
            self.left -= 1
            node.object = self.phrase(self.pick(self.choices.objects[verb]), node.negated)
            self.recipient(node)
        elif verb.objects:
            node.object = self.object(node)
        return node

    def fit(self, verb: Verb, moods: tuple[str, ...]) -> list[str]:
        return [mood for mood in moods if mood in self.choices.moods[verb]]

    def negate(self, node: Clause, verb: Verb) -> None:
        if node.mood != "must" and not (node.mood == "present" and "affirmative" in verb.flags):
            node.negated = True
            self.left -= {"present": 2, "past": 2, "want": 2, "can": 0}.get(node.mood, 1)

    def copula(self, negatable: bool) -> Clause:
        negated = negatable and self.left >= 5 and self.chance(0.15)
        if self.chance(0.3):
            which = int(self.random() * 6)
            subject: Nominal = self.pronoun(which)
            name = PRONOUN_NAMES[which]
        else:
            subject = self.phrase(self.pick(self.choices.described), subject=not negated)
            name = subject.noun.name
        node = Clause(self.new_key(), subject, None, negated=negated)
        node.predicate = self.pick(self.choices.predicates[name])
        self.left -= 2 + negated
        if self.left > 0 and not negated and not node.predicate.classifying and self.chance(0.4):
            node.degree = self.pick(("very", "very", "too"))
            self.left -= 1
        return node

    def reported(self) -> Clause:
        """*the doctor says that …*: the inner clause gets nearly all of the room."""
        verb = self.pick(self.choices.clausal)
        node = Clause(self.new_key(), None, verb)
        self.left -= 2
        node.subject = self.subject(verb, False, 2)
        # 希望 … 必须 and the like do not go together
        node.that = self.clause(first=False, moods=("will", "will", "can") if verb.name == "hope that" else ())
        return node

    # Growth: each method adds one thing if it can, and returns whether it did

    def grow_subject(self, node: Clause, first: bool) -> bool:
        subject = node.subject
        if isinstance(subject, Phrase):
            joinable = node.verb and self.left >= 3 and subject.determiner not in ("every", "all") and self.chance(0.25)
            if node.verb and joinable and (pair := self.coordinate(subject, self.choices.subjects[node.verb])):
                node.subject = pair
                return True
            grown = self.grow_phrase(subject)
            if grown and node.predicate in subject.adjectives:  # the sad story is sad
                subject.adjectives = subject.adjectives[:-1]
                self.left += 1
                return False
            return grown
        return isinstance(subject, Coordination) and self.grow_phrase(self.pick((subject.first, subject.second)))

    def grow_object(self, node: Clause, first: bool) -> bool:
        target = node.object
        if not isinstance(target, Phrase) or node.verb is None:
            return isinstance(target, Coordination) and self.grow_phrase(
                self.pick((target.first, target.second)), heavy=False
            )
        is_plain = not node.negated and node.recipient is None and target.noun.kinds.isdisjoint({"topic"})
        joinable = is_plain and self.left >= 3 and self.chance(0.25) and not self.is_never(node)
        if joinable and (pair := self.coordinate(target, self.choices.objects[node.verb])):
            node.object = pair
            return True
        # What follows a relative clause would seem to belong to it.
        alone = node.place is None and node.recipient is None and (node.time is None or node.time_first)
        return self.grow_phrase(target, heavy=alone and node.topic is None)

    def coordinate(self, first: Phrase, nouns: list[Noun]) -> Coordination | None:
        """*the cat and the dog*; None if the same noun is drawn."""
        noun = self.pick(nouns)
        if noun is first.noun:
            return None
        self.left -= 1
        return Coordination(self.new_key(), first, self.phrase(noun))

    def is_never(self, node: Clause) -> bool:
        return node.frequency is not None and node.frequency.name == "never"

    def is_heavy(self, node: Nominal | None) -> bool:
        return isinstance(node, Phrase) and node.relative is not None

    def grow_time(self, node: Clause, first: bool) -> bool:
        if node.time or node.frequency or node.verb is None or node.that or node.topic_first:
            return False
        if "state" in node.verb.flags:
            return False
        time = self.pick(self.choices.times[node.mood])
        front = first and self.chance(0.4)
        if len(time.forms["english"]) > self.left or (not front and self.is_heavy(node.object)):
            return False
        node.time, node.time_first = time, front
        self.left -= len(time.forms["english"])
        return True

    def grow_place(self, node: Clause, first: bool) -> bool:
        verb = node.verb
        if node.place or verb is None or node.that or node.topic or self.left < 3 or self.is_heavy(node.object):
            return False
        if "state" in verb.flags or not verb.objects.isdisjoint(LOCATIVE):
            return False
        where = self.pick(PLACES if self.left >= 5 else ("in",))
        self.left -= 5 if where == "before" else 3  # in front of the house
        node.place = where, Phrase(self.new_key(), self.pick(self.choices.places), self.pick(NEARBY))
        return True

    def grow_manner(self, node: Clause, first: bool) -> bool:
        if node.manner or node.frequency or node.negated or node.verb is None or "manner" not in node.verb.flags:
            return False
        if node.mood not in ("present", "past"):
            return False
        node.manner = self.pick(self.choices.manners)
        self.left -= 1
        return True

    def grow_frequency(self, node: Clause, first: bool) -> bool:
        if node.manner or node.frequency or node.negated or node.time or node.verb is None or node.that:
            return False
        if node.mood != "present" or "state" in node.verb.flags:
            return False
        adverb = self.pick(self.choices.frequencies)
        definite = isinstance(node.object, Phrase) and node.object.determiner in tree.DEFINITE
        if adverb.name == "never" and node.object and not definite and not isinstance(node.object, Pronoun):
            return False
        node.frequency = adverb
        self.left -= 1
        return True

    def grow_topic(self, node: Clause, first: bool) -> bool:
        """*in a film about music*, rarely and with any topic: without an ambiguous word, it decides nothing."""
        if node.topic or node.place or node.that or node.time_first or self.left < 6:
            return False
        if not self.topical or not self.chance(0.25):
            return False
        node.topic_first = first and node.time is None and self.chance(0.5)
        node.topic = self.topic(self.generic(self.pick(self.choices.topics)))
        self.left -= 1 + node.topic_first
        return True

    def topic(self, about: Phrase) -> Phrase:
        self.left -= 3
        return Phrase(self.new_key(), self.pick(self.choices.carriers), "a", about=about)
