"""Which words may stand beside each other in a split, by their meaning and by the split's combinations."""

from functools import cache

from saccade.tasks.phrasebook.lexicon import Adjective, Verb, lexicon
from saccade.tasks.phrasebook.split import PRONOUN_NAMES, allowed

MOODS = ("present",) * 5 + ("past",) * 5 + ("will",) * 2 + ("want",) * 2 + ("can", "must", "should")
MOOD_WORDS = {"present": 0, "past": 0, "will": 1, "want": 2, "can": 1, "must": 1, "should": 1}  # before the verb
HER = 3  # among the pronouns


class Choices:
    def __init__(self, split: str) -> None:
        words = lexicon()
        verbs, nouns = words.verbs, words.nouns
        homographs = [senses[0] for senses in words.homographs.values()]

        def adjectives(name: str, kinds: frozenset[str]) -> list[Adjective]:
            return [a for a in words.adjectives if a.kinds & kinds and allowed(split, "adjective", a.name, name)]

        simple = [v for v in verbs if not v.flags & {"ditransitive", "clausal"}]
        self.intransitive = [v for v in simple if not v.objects]
        self.transitive = [v for v in simple if v.objects]
        self.ditransitive = [v for v in verbs if "ditransitive" in v.flags]
        self.clausal = [v for v in verbs if "clausal" in v.flags]
        self.about_topics = [v for v in simple if "topic" in v.objects]  # transitive, with a topic as object
        self.moods = {v: _moods(v) for v in verbs}
        self.subjects = {
            v: [n for n in nouns if n.kinds & v.subjects and allowed(split, "subject", n.name, v.name)] for v in verbs
        }
        self.objects = {
            v: [n for n in nouns if n.kinds & v.objects and allowed(split, "object", v.name, n.name)] for v in verbs
        }
        self.subject_pronouns = {
            v: [i for i, name in enumerate(PRONOUN_NAMES) if allowed(split, "subject", name, v.name)]
            for v in verbs
            if "human" in v.subjects
        }
        # her is left out: German sie and French lui do not distinguish her from them and him
        self.object_pronouns = {
            v: [i for i, name in enumerate(PRONOUN_NAMES) if i != HER and allowed(split, "object", v.name, name)]
            for v in verbs
            if "human" in v.objects
        }
        self.homographs = {  # of verbs whose object may be either sense of an ambiguous word
            v: [n.name for n in homographs if allowed(split, "object", v.name, n.name)]
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
        self.times = {mood: [a for a in words.adverbs if mood in a.kinds] for mood in dict.fromkeys(MOODS)}
        self.frequencies = [a for a in words.adverbs if "frequency" in a.kinds]
        self.manners = [a for a in words.adverbs if "manner" in a.kinds]


def _moods(verb: Verb) -> list[str]:
    if verb.flags & {"state", "clausal"}:
        return ["present"]
    barred = {"past"} if "timeless" in verb.flags else set()
    if "tense" in verb.flags:
        barred |= {"will", "want", "can", "must", "should"}
    return [mood for mood in MOODS if mood not in barred]


@cache
def choices(split: str) -> Choices:
    return Choices(split)
