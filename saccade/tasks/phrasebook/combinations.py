"""Which words may stand beside each other, by their meaning, and which of their combinations belong to which split.

A combination is a subject with its verb, a verb with its object, or an adjective with its noun. A hash of the English
names reserves one in ten for `test` and one in twenty for `valid`. A training sentence has no reserved combination; a
test sentence has at least one that is reserved for `test` and none that is reserved for `valid`, and vice versa. Both
senses of an ambiguous word share one name, and topics and cues are in no combination, so that the split reveals nothing
about the sense.

The forms of a verb for I, you and we occur only with these subjects, so these are never reserved. A test sentence has
new combinations, not new words, except for a few forms of adjectives that few nouns take.
"""

from collections.abc import Iterator
from functools import cache

from saccade.tasks.drawing import hash_number
from saccade.tasks.phrasebook.lexicon import Adjective, Verb, lexicon
from saccade.tasks.phrasebook.tree import Clause, Coordination, Nominal, Phrase, Pronoun, Sentence, Statement

Combination = tuple[str, str, str]  # "subject" | "object" | "adjective", then the two words' names
PRONOUN_NAMES = ("I", "you", "he", "she", "we", "they")
WITH_OWN_FORMS = ("I", "you", "we")
HER = 3  # among the pronouns
_BELOW = {
    Statement: ("main", "other"),
    Clause: ("subject", "object", "recipient", "topic", "place", "that"),
    Coordination: ("first", "second"),
    Phrase: ("of", "relative"),
}
MODALS = ("will",) * 2 + ("want",) * 2 + ("can", "must", "should")
MOODS = ("present",) * 5 + ("past",) * 5 + MODALS
MOOD_WORDS = {"present": 0, "past": 0, "will": 1, "want": 2, "can": 1, "must": 1, "should": 1}  # before the verb


@cache
def split_of(kind: str, first: str, second: str) -> str:
    """The split that owns a combination; one that is not reserved belongs to `train` and may occur everywhere."""
    if kind == "subject" and first in WITH_OWN_FORMS:
        return "train"
    return {0: "test", 1: "test", 2: "valid"}.get(hash_number(f"{kind}\t{first}\t{second}") % 20, "train")


def combinations(sentence: Sentence) -> Iterator[Combination]:
    """Every combination in a sentence."""
    for node in _nodes(sentence):
        if isinstance(node, Phrase):
            yield from (("adjective", a.name, node.noun.name) for a in node.adjectives if not a.cue)
        elif isinstance(node, Clause) and node.verb:
            yield from (("subject", name, node.verb.name) for name in head_names(node.doer))
            yield from (("object", node.verb.name, name) for name in head_names(node.object or node.fronted))
        elif isinstance(node, Clause) and node.predicate:
            yield from (("adjective", node.predicate.name, name) for name in head_names(node.doer))


def _nodes(node: object) -> Iterator[object]:
    """A node and all nodes below it that may have combinations."""
    yield node
    below = [getattr(node, name) for name in _BELOW.get(type(node), ())]
    for child in node if isinstance(node, list | tuple) else below:
        yield from _nodes(child)


def head_names(node: Nominal | None) -> list[str]:
    if isinstance(node, Pronoun):
        return [PRONOUN_NAMES[node.which]]
    phrases = [node.first, node.second] if isinstance(node, Coordination) else [node] if node else []
    return [phrase.noun.name for phrase in phrases if phrase.determiner != "generic"]


class Choices:
    """The words that fit together in a split."""

    def __init__(self, split: str) -> None:
        words = lexicon()
        verbs, nouns = words.verbs, words.nouns
        homographs = [senses[0] for senses in words.homographs.values()]
        pronouns = list(enumerate(PRONOUN_NAMES))

        def allowed(kind: str, first: str, second: str) -> bool:
            return split_of(kind, first, second) in ("train", split)

        def adjectives(name: str, kinds: frozenset[str]) -> list[Adjective]:
            return [a for a in words.adjectives if a.kinds & kinds and allowed("adjective", a.name, name)]

        simple = [v for v in verbs if not v.flags & {"ditransitive", "clausal"}]
        self.intransitive = [v for v in simple if not v.objects]
        self.transitive = [v for v in simple if v.objects]
        self.ditransitive = [v for v in verbs if "ditransitive" in v.flags]
        self.clausal = [v for v in verbs if "clausal" in v.flags]
        self.about_topics = [v for v in simple if "topic" in v.objects]  # transitive, with a topic as object
        self.moods = {v: _moods(v) for v in verbs}
        self.subjects = {
            v: [n for n in nouns if n.kinds & v.subjects and allowed("subject", n.name, v.name)] for v in verbs
        }
        self.objects = {
            v: [n for n in nouns if n.kinds & v.objects and allowed("object", v.name, n.name)] for v in verbs
        }
        self.subject_pronouns = {
            v: [i for i, name in pronouns if allowed("subject", name, v.name)] for v in verbs if "human" in v.subjects
        }
        # her is left out: German sie and French lui do not distinguish her from them and him
        self.object_pronouns = {
            v: [i for i, name in pronouns if i != HER and allowed("object", v.name, name)]
            for v in verbs
            if "human" in v.objects
        }
        self.homographs = {  # of verbs whose object may be either sense of an ambiguous word
            v: [n.name for n in homographs if allowed("object", v.name, n.name)]
            for v in verbs
            if "homograph" in v.objects
        }
        # by the name of a noun: in French the adjective stands before it, or after it
        fitting = {n.name: adjectives(n.name, n.kinds) for n in (*nouns, *homographs)}
        of_people = {name: adjectives(name, frozenset({"human", "grown"})) for name in PRONOUN_NAMES}
        self.before = {name: [a for a in fit if a.before] for name, fit in fitting.items()}
        self.after = {name: [a for a in fit if not a.before] for name, fit in fitting.items()}
        self.predicates = {name: [a for a in fit if a.predicate] for name, fit in (fitting | of_people).items()}
        # by the name of a noun: the verbs of relative clauses in which it is the subject, or the direct object
        self.doers = {n.name: [v for v in simple if n in self.subjects[v]] for n in nouns}
        self.undergoers = {n.name: [v for v in simple if v.direct and n in self.objects[v]] for n in nouns} | {
            n.name: [v for v, names in self.homographs.items() if v.direct and n.name in names] for n in homographs
        }
        self.people = [n for n in nouns if "human" in n.kinds]
        self.places = [n for n in nouns if "place" in n.kinds]
        self.carriers = [n for n in nouns if "topical" in n.kinds]  # of a topic: a film, a book
        self.described = [n for n in nouns if fitting[n.name]]
        self.topics = [noun for domain in words.topics.values() for noun in domain]
        self.times = {mood: [a for a in words.adverbs if mood in a.kinds] for mood in MOOD_WORDS}
        self.frequencies = [a for a in words.adverbs if "frequency" in a.kinds]
        self.manners = [a for a in words.adverbs if "manner" in a.kinds]


def _moods(verb: Verb) -> list[str]:
    if verb.flags & {"state", "clausal"}:
        return ["present"]
    barred = ("past",) * ("timeless" in verb.flags) + MODALS * ("tense" in verb.flags)
    return [mood for mood in MOODS if mood not in barred]


choices = cache(Choices)
