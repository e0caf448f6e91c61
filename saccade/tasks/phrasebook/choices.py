"""What may stand where: for each split, the words that sense and the split's combinations allow beside each other."""

from dataclasses import dataclass
from functools import cache

from saccade.tasks.phrasebook.lexicon import Adjective, Adverb, Noun, PhrasebookLexicon, Verb, lexicon
from saccade.tasks.phrasebook.split import PRONOUN_NAMES, allowed

MOODS = ("present",) * 5 + ("past",) * 5 + ("will",) * 2 + ("want",) * 2 + ("can", "must", "should")


@dataclass(frozen=True, kw_only=True)
class Choices:
    intransitive: list[Verb]
    transitive: list[Verb]
    ditransitive: list[Verb]
    clausal: list[Verb]
    about_topics: list[Verb]  # transitive, and may be said of a topic
    subjects: dict[Verb, list[Noun]]
    objects: dict[Verb, list[Noun]]
    subject_pronouns: dict[Verb, list[int]]
    object_pronouns: dict[Verb, list[int]]
    neutral: list[Verb]  # transitive, and may be said of either sense of an ambiguous word
    homographs: dict[Verb, list[str]]
    before: dict[str, list[Adjective]]  # noun name -> adjectives that French puts before it
    after: dict[str, list[Adjective]]
    predicates: dict[str, list[Adjective]]  # also by pronoun
    doers: dict[str, list[Verb]]  # noun name -> verbs it may be the subject of, in a relative clause
    undergoers: dict[str, list[Verb]]  # noun name -> verbs it may be the bare object of
    moods: dict[Verb, list[str]]
    people: list[Noun]
    places: list[Noun]
    carriers: list[Noun]  # what can be about a topic
    everything: list[Noun]
    topics: list[Noun]
    times: dict[str, list[Adverb]]
    frequencies: list[Adverb]
    manners: list[Adverb]


def _moods(verb: Verb) -> list[str]:
    if verb.flags & {"state", "clausal"}:
        return ["present"]
    barred = {"past"} if "timeless" in verb.flags else set()
    if "tense" in verb.flags:
        barred |= {"will", "want", "can", "must", "should"}
    return [mood for mood in MOODS if mood not in barred]


def _adjectives(words: PhrasebookLexicon, split: str, name: str, kinds: frozenset[str]) -> list[Adjective]:
    return [a for a in words.adjectives if a.kinds & kinds and allowed(split, "adjective", a.name, name)]


@cache
def choices(split: str) -> Choices:
    words = lexicon()
    verbs, nouns = words.verbs, words.nouns
    homographs = [senses[0] for senses in words.homographs.values()]
    subjects = {
        v: [n for n in nouns if n.kinds & v.subjects and allowed(split, "subject", n.name, v.name)] for v in verbs
    }
    objects = {v: [n for n in nouns if n.kinds & v.objects and allowed(split, "object", v.name, n.name)] for v in verbs}
    neutral = {
        v: [n.name for n in homographs if allowed(split, "object", v.name, n.name)]
        for v in verbs
        if "homograph" in v.objects
    }
    adjectives = {n.name: _adjectives(words, split, n.name, n.kinds) for n in (*nouns, *homographs)}
    people = {name: _adjectives(words, split, name, frozenset({"human", "grown"})) for name in PRONOUN_NAMES}
    simple = [v for v in verbs if not v.flags & {"ditransitive", "clausal"}]
    return Choices(
        intransitive=[v for v in simple if not v.objects],
        transitive=[v for v in simple if v.objects],
        ditransitive=[v for v in verbs if "ditransitive" in v.flags],
        clausal=[v for v in verbs if "clausal" in v.flags],
        about_topics=[v for v in simple if "topic" in v.objects],
        subjects=subjects,
        objects=objects,
        subject_pronouns={
            v: [i for i, name in enumerate(PRONOUN_NAMES) if allowed(split, "subject", name, v.name)]
            for v in verbs
            if "human" in v.subjects
        },
        # her is left out: German sie and French lui do not tell her from them and him
        object_pronouns={
            v: [i for i, name in enumerate(PRONOUN_NAMES) if i != 3 and allowed(split, "object", v.name, name)]
            for v in verbs
            if "human" in v.objects
        },
        neutral=list(neutral),
        homographs=neutral,
        before={name: [a for a in fit if a.before] for name, fit in adjectives.items()},
        after={name: [a for a in fit if not a.before] for name, fit in adjectives.items()},
        predicates={name: [a for a in fit if a.predicate] for name, fit in (adjectives | people).items()},
        doers={n.name: [v for v in simple if n in subjects[v]] for n in nouns},
        undergoers={n.name: [v for v in simple if v.direct and n in objects[v]] for n in nouns}
        | {n.name: [v for v, names in neutral.items() if v.direct and n.name in names] for n in homographs},
        moods={v: _moods(v) for v in verbs},
        people=[n for n in nouns if "human" in n.kinds],
        places=[n for n in nouns if "place" in n.kinds],
        carriers=[n for n in nouns if "topical" in n.kinds],
        everything=[n for n in nouns if adjectives[n.name]],
        topics=[noun for domain in words.topics.values() for noun in domain],
        times={mood: [a for a in words.adverbs if mood in a.kinds] for mood in dict.fromkeys(MOODS)},
        frequencies=[a for a in words.adverbs if "frequency" in a.kinds],
        manners=[a for a in words.adverbs if "manner" in a.kinds],
    )
