"""Draw abstract sentences: a core that fits the room, then growth by one modifier after another until it is full.

Room is counted in English words. The lengths in other languages follow it closely, so that few sentences must be drawn
again.
"""

from collections.abc import Sequence

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.combinations import MOOD_WORDS, combinations, head_names, split_of
from saccade.tasks.phrasebook.lexicon import Noun, Verb
from saccade.tasks.phrasebook.phrases import PhraseSampler
from saccade.tasks.phrasebook.tree import Clause, Coordination, Nominal, Phrase, Pronoun, Sentence, Statement

NEARBY = ("the",) * 5 + ("a", "this", "our")
PLACES = ("in",) * 4 + ("near", "behind", "before", "by")
JOINS = ("and",) * 3 + ("but",) * 2 + ("or", "so")
LINKS = ("because", "because", "when", "if")
MOODS_OF_OTHER = {"when": ("past",), "if": ("present", "present", "can", "want"), "because": ()}
MOODS_OF_MAIN = {"when": ("past",), "if": ("will", "will", "can", "must", "should"), "because": ()}
LOCATIVE = frozenset({"home", "goal", "room", "building"})


class Sampler(PhraseSampler):
    # Sentences and statements

    def sentence(self, length: int) -> Sentence:
        """Draw about `length` English words, including the full stop."""
        out: Sentence = []
        self.fill(out, length - 1)
        return out

    def belongs(self, sentence: Sentence) -> bool:
        """No combination is drawn that is reserved for another split; a held-out split needs one of its own."""
        owners = (split_of(*combination) for combination in combinations(sentence))
        return self.split == "train" or self.split in owners

    def fill(self, out: Sentence, room: int) -> None:
        """Add statements to the end of `out` until `room` words are used."""
        self.left = 0
        while room >= 2:
            join = ""
            if out:  # two 所以 in a row, from *because* or *so*, would read badly
                has_result = out[-1].link == "because" or out[-1].join == "so"
                join = self.pick(JOINS[:-1] if has_result else JOINS)
                room -= 2
            size = room
            if room > 16 or (room > 10 and self.chance(0.5)):
                size = 5 + int(self.random() * min(9, room - 10))
            room -= size
            self.left += size
            out.append(self.statement(join))
            if room < 5:
                break
        if room + self.left >= 7 and len(out) < 40:
            self.fill(out, room + self.left)

    def statement(self, join: str) -> Statement:
        room = self.left
        first = join != "so"  # whether a clause or an adverbial may stand before the subject
        link = self.pick(LINKS) if first and room >= 8 and self.chance(0.4) else ""
        if not link:
            return Statement(self.clause(first=first), join=join)
        spend = 3 + int(self.random() * (room - 7))
        self.left = spend
        other = self.clause(first=False, moods=MOODS_OF_OTHER[link], negatable=link != "when")
        self.left += room - spend - (2 if link == "if" else 1)
        main = self.clause(first=link == "because", moods=MOODS_OF_MAIN[link])
        return Statement(main, link, other, join)

    # Clauses

    def clause(self, *, first: bool, moods: Sequence[str] = (), negatable: bool = True) -> Clause:
        """Draw one clause that uses all of `left`; `moods` restricts its mood (past, will, …)."""
        node = self.core(moods, negatable)
        growths = [*[self.grow_subject] * 2, *[self.grow_object] * 2, self.grow_time, self.grow_place]
        growths += [self.grow_manner, self.grow_frequency, self.grow_topic]
        while self.left > 0 and growths:
            i = int(self.random() * len(growths))
            if not growths[i](node, first):
                growths[i] = growths[-1]
                growths.pop()
        return node

    def core(self, moods: Sequence[str], negatable: bool) -> Clause:
        room, chance = self.left, self.random()
        if not moods and room >= 4 and chance < 0.12:
            return self.copula(negatable)
        if not moods and room >= 8 and chance < 0.24:
            return self.reported()
        if room >= 7 and chance < 0.36:
            return self.verbal(self.choices.ditransitive, moods, negatable)
        verbs = self.choices.transitive if room >= 3 and chance < 0.85 else self.choices.intransitive
        return self.verbal(verbs, moods, negatable)

    def verbal(self, verbs: list[Verb], moods: Sequence[str], negatable: bool) -> Clause:
        verb = self.pick(verbs)
        while not (fitting := self.fit(verb, moods)):
            verb = self.pick(verbs)
        node = Clause(None, verb, self.pick(fitting) if self.left > 3 or moods else fitting[0])
        ditransitive, preposition = "ditransitive" in verb.flags, bool(verb.english_preposition)
        objects = 2 * bool(verb.objects) + 2 * ditransitive  # the words of the shortest object and recipient
        self.left -= 1 + preposition + MOOD_WORDS[node.mood]
        if negatable and self.left > 2 + preposition + objects and self.chance(0.15):
            node.negated = node.mood != "must" and not (node.mood == "present" and "affirmative" in verb.flags)
            self.left -= node.negated * {"present": 2, "past": 2, "want": 2, "can": 0}.get(node.mood, 1)
        node.subject = self.subject(verb, node.negated, self.left - objects)
        if ditransitive:
            self.left -= 1
            node.object = self.phrase(self.pick(self.choices.objects[verb]), node.negated)
            node.recipient = self.recipient(node.subject)
        elif verb.objects:
            node.object = self.object(node, verb)
        return node

    def fit(self, verb: Verb, moods: Sequence[str]) -> list[str]:
        """The moods that a verb can have, among `moods` or all."""
        possible = self.choices.moods[verb]
        return [mood for mood in moods if mood in possible] if moods else possible

    def copula(self, negatable: bool) -> Clause:
        negated = negatable and self.left >= 5 and self.chance(0.15)
        if self.chance(0.3):
            subject: Nominal = self.pronoun(int(self.random() * 6))
        else:
            subject = self.phrase(self.pick(self.choices.described), subject=not negated)
        node = Clause(subject, None, negated=negated)
        node.predicate = self.pick(self.choices.predicates[head_names(subject)[0]])
        self.left -= 2 + negated
        if self.left > 0 and not negated and not node.predicate.classifying and self.chance(0.4):
            node.degree = self.pick(("very", "very", "too"))
            self.left -= 1
        return node

    def reported(self) -> Clause:
        """*the doctor says that …*: the inner clause gets nearly all of the room."""
        verb = self.pick(self.choices.clausal)
        node = Clause(None, verb)
        self.left -= 2
        node.subject = self.subject(verb, False, 2)
        # 希望 … 必须 and the like do not go together
        node.that = self.clause(first=False, moods=("will", "will", "can") if verb.name == "hope that" else ())
        return node

    # Growth: each method adds one thing if it can, and returns whether it did

    def grow_subject(self, node: Clause, first: bool) -> bool:
        subject = node.subject
        if isinstance(subject, Coordination):
            return self.grow_phrase(self.pick((subject.first, subject.second)))
        if not isinstance(subject, Phrase):
            return False
        nouns = self.choices.subjects[node.verb] if node.verb else []
        joinable = nouns and self.left >= 3 and subject.determiner not in ("every", "all") and self.chance(0.25)
        if joinable and (pair := self.coordinate(subject, nouns)):
            node.subject = pair
            return True
        grown = self.grow_phrase(subject)
        if grown and node.predicate in subject.adjectives:  # the sad story is sad
            subject.adjectives = subject.adjectives[:-1]
            self.left += 1
            return False
        return grown

    def grow_object(self, node: Clause, first: bool) -> bool:
        target = node.object
        if isinstance(target, Coordination):
            return self.grow_phrase(self.pick((target.first, target.second)), heavy=False)
        if not isinstance(target, Phrase) or node.verb is None:
            return False
        is_plain = not node.negated and node.recipient is None and target.noun.kinds.isdisjoint({"topic"})
        joinable = is_plain and self.left >= 3 and self.chance(0.25) and not node.is_never
        if joinable and (pair := self.coordinate(target, self.choices.objects[node.verb])):
            node.object = pair
            return True
        # What follows a relative clause would seem to belong to it.
        follows = node.place or node.recipient or node.topic or (node.time and not node.time_first)
        return self.grow_phrase(target, heavy=not follows)

    def coordinate(self, first: Phrase, nouns: list[Noun]) -> Coordination | None:
        """*the cat and the dog*; None if the same noun is drawn."""
        noun = self.pick(nouns)
        if noun is first.noun:
            return None
        self.left -= 1
        return Coordination(first, self.phrase(noun))

    def grow_time(self, node: Clause, first: bool) -> bool:
        if not _event(node) or node.time or node.frequency or node.topic_first:
            return False
        time, front = self.pick(self.choices.times[node.mood]), first and self.chance(0.4)
        length = len(time.forms["en"])
        if length > self.left or (not front and _is_heavy(node.object)):
            return False
        node.time, node.time_first = time, front
        self.left -= length
        return True

    def grow_place(self, node: Clause, first: bool) -> bool:
        verb = _event(node)
        if not verb or node.place or node.topic or self.left < 3 or _is_heavy(node.object) or verb.objects & LOCATIVE:
            return False
        node.where = self.pick(PLACES if self.left >= 5 else ("in",))
        self.left -= 5 if node.where == "before" else 3  # in front of the house
        node.place = Phrase(self.pick(self.choices.places), self.pick(NEARBY))
        return True

    def grow_manner(self, node: Clause, first: bool) -> bool:
        takes_manner = node.verb is not None and "manner" in node.verb.flags and node.mood in ("present", "past")
        if not takes_manner or node.manner or node.frequency or node.negated:
            return False
        node.manner = self.pick(self.choices.manners)
        self.left -= 1
        return True

    def grow_frequency(self, node: Clause, first: bool) -> bool:
        is_habit = _event(node) and node.mood == "present" and not node.negated
        if not is_habit or node.manner or node.frequency or node.time:
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
        fits = not (node.topic or node.place or node.that or node.time_first) and self.left >= 6
        if not fits or not self.topical or not self.chance(0.25):
            return False
        node.topic_first = first and node.time is None and self.chance(0.5)
        node.topic = self.topic(self.generic(self.pick(self.choices.topics)))
        self.left -= 1 + node.topic_first
        return True

    def topic(self, about: Phrase) -> Phrase:
        self.left -= 3
        return Phrase(self.pick(self.choices.carriers), "a", about=about)


def _event(node: Clause) -> Verb | None:
    """The verb, unless it is one of state or speech."""
    return None if node.that or node.verb is None or "state" in node.verb.flags else node.verb


def _is_heavy(node: Nominal | None) -> bool:
    return isinstance(node, Phrase) and node.relative is not None
