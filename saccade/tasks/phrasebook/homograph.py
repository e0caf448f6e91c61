"""Sentences with an ambiguous word whose sense is decided by one cue, at a requested distance.

The word, its sentence and the place of the cue are drawn before the sense. Only then does a fair coin choose the sense
and one of the cues of its domain. A cue is always one English word in the same place, so that sentences of the two
senses differ in nothing else. Kinds of cue, with the distance from the word to the cue:

    the *wild* bat                             −1     an adjective of the sense's domain
    *rivers* and the bank                   −3, −4    the cue beside it
    the bank and *rivers*                      +2
    in a film about *money*, … the bank      ≤ −5     a topic first
    if she likes *money*, … the bank         ≤ −5     a condition first
    the bank … because she likes *money*     ≥ +4     a reason last
    the bank … in a film about *money*       ≥ +5     a topic last
"""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.tasks.phrasebook.combinations import MOOD_WORDS
from saccade.tasks.phrasebook.lexicon import Noun, lexicon
from saccade.tasks.phrasebook.sampler import Sampler
from saccade.tasks.phrasebook.tree import Clause, Coordination, Meaning, Phrase, Sentence, Statement

LONG = 12  # a distance that needs more than one clause


@dataclass(slots=True)
class Draft:
    """A sentence whose sense is still open."""

    sentence: Sentence
    word: Phrase
    cue: Phrase | None  # None: the cue is the word's adjective

    @property
    def cue_meaning(self) -> Meaning:
        return (self.word, "adjective 0") if self.cue is None else (self.cue, "noun")

    def choose_sense(self, sense: Noun, domain: str, which: float) -> None:
        """Insert the sense and a cue of `domain`; `which` in [0, 1) chooses among its nouns."""
        self.word.noun = sense
        if self.cue is None:
            self.word.adjectives = (lexicon().cue_adjectives[domain],)
        else:
            topics = lexicon().topics[domain]
            topic = topics[int(which * len(topics))]
            self.cue.noun, self.cue.plural = topic, topic.plural


def is_feasible(distance: int) -> bool:
    """Whether a sentence can have this signed distance."""
    return distance in (-1, 2) or distance <= -3 or distance >= 4


def make_draft(sampler: Sampler, distance: int, length: int = 0) -> Draft:
    """Draw a sentence with the cue about `distance` away (exact when near), padded to about `length` English words."""
    sampler.topical = False  # the sentence must not have another cue
    words = lexicon().homographs
    word = words[sampler.pick(tuple(words))][0]
    out: Sentence = []
    spare = length - abs(distance) - 6  # subject, verb, determiner, word, cue, stop
    lead = int(sampler.random() * (spare + 1)) if spare > 0 else 0
    if lead >= 6:
        sampler.fill(out, lead)
    if -5 < distance < 4:
        phrase, cue = _near(sampler, out, word, distance)
    else:
        phrase, cue = (_before if distance < 0 else _after)(sampler, out, word, abs(distance))
    if (rest := spare - lead) >= 6:
        sampler.fill(out, rest)
    sampler.topical = True
    return Draft(out, phrase, cue)


def _add(sampler: Sampler, out: Sentence, statement: Statement) -> None:
    if out:
        statement.join = sampler.pick(("and", "and", "but"))
    out.append(statement)


def _host(
    sampler: Sampler, word: Noun, room: int, moods: Sequence[str] = (), *, topical: bool = False
) -> tuple[Clause, Phrase]:
    """A clause with the word as its object and `room` for everything before it; the verb fits either sense.

    With `topical`, the verb fits a topic, too.
    """
    hosts = sampler.choices.homographs
    verbs = [verb for verb in hosts if word.name in hosts[verb] and sampler.fit(verb, moods)]
    verb = sampler.pick([verb for verb in verbs if "topic" in verb.objects] if topical else verbs)
    mood = sampler.pick(sampler.fit(verb, moods) if moods or room > 5 else ("present",))
    node = Clause(None, verb, mood)
    # without the verb and the word's determiner
    sampler.left = room - 2 - bool(verb.english_preposition) - MOOD_WORDS[mood]
    node.subject = sampler.subject(verb, False, sampler.left)
    misses = 0
    while sampler.left > 0 and misses < 4:
        misses += not sampler.grow_subject(node, False)
    node.object = phrase = sampler.phrase(word, definite="state" in verb.flags)
    return node, phrase


def _near(sampler: Sampler, out: Sentence, word: Noun, distance: int) -> tuple[Phrase, Phrase | None]:
    """The cue is the word's adjective, or beside it."""
    node, phrase = _host(sampler, word, 5, topical=distance != -1)
    cue = None
    if distance != -1:
        if distance == -4:
            sampler.grow_adjective(phrase)
        cue = sampler.generic(word)
        node.object = Coordination(*((phrase, cue) if distance > 0 else (cue, phrase)))
    elif phrase.determiner == "a":  # a or an would reveal the cue
        phrase.determiner = "the"
    _add(sampler, out, Statement(node))
    return phrase, cue


def _add_cue(sampler: Sampler, out: Sentence, word: Noun, statement: Statement, link: str) -> Phrase:
    """Add a statement with the cue in a clause of its own, *if/because she likes money*, or else in a topic."""
    if not link:
        cue = sampler.generic(word)
        statement.main.topic = sampler.topic(cue)
    else:
        pronouns = sampler.choices.subject_pronouns
        verb = sampler.pick([v for v in sampler.choices.about_topics if pronouns[v]])
        cue = sampler.generic(word)
        subject = sampler.pronoun(sampler.pick(pronouns[verb]))
        statement.link, statement.other = link, Clause(subject, verb, object=cue)
    _add(sampler, out, statement)
    return cue


def _filler(sampler: Sampler, room: int, moods: Sequence[str] = ()) -> Clause:
    """A clause that can take a topic first or last."""
    while True:
        sampler.left = room
        node = sampler.clause(first=False, moods=moods)
        if not (node.that or node.place or node.time):
            return node


def _before(sampler: Sampler, out: Sentence, word: Noun, distance: int) -> tuple[Phrase, Phrase]:
    """The cue opens a statement; the word is in the same clause or in one that follows."""
    conditional = sampler.chance(0.4)
    moods = ("will", "can", "must", "should") if conditional else ()
    between = distance - 2  # a comma, then words, then the word
    if distance > LONG:
        tail = 4 + int(sampler.random() * 4)
        between -= tail + 2
        size = between if between < 12 else 4 + int(sampler.random() * 5)
        opening = _filler(sampler, size, moods)
        between -= size - sampler.left
    else:
        opening, phrase = _host(sampler, word, between + 1, moods)
    opening.topic_first = not conditional
    cue = _add_cue(sampler, out, word, Statement(opening), "if" if conditional else "")
    if distance > LONG:
        if between >= 5:
            sampler.fill(out, between)
        node, phrase = _host(sampler, word, tail + 1 + (between if between < 5 else 0))
        _add(sampler, out, Statement(node))
    return phrase, cue


def _after(sampler: Sampler, out: Sentence, word: Noun, distance: int) -> tuple[Phrase, Phrase]:
    """The cue closes a statement; the word is in the same clause or in one before."""
    reason = distance == 4 or sampler.chance(0.4)
    node, phrase = _host(sampler, word, 4 + int(sampler.random() * 3))
    between = distance - (4 if reason else 5)  # because she likes X; in a film about X
    growths = (sampler.grow_object, sampler.grow_object, sampler.grow_time, *[sampler.grow_place] * reason)
    sampler.left = room = between if distance <= LONG else int(sampler.random() * 5)
    misses = 0
    while sampler.left > 0 and misses < 6:
        misses += not sampler.pick(growths)(node, False)
    if distance > LONG:
        between -= room - sampler.left + 2
        _add(sampler, out, Statement(node))
        size = between if between < 12 else 4 + int(sampler.random() * 5)
        if between - size >= 6:
            sampler.fill(out, between - size - 2)
            size += max(sampler.left, 0)
        node = _filler(sampler, size)
    return phrase, _add_cue(sampler, out, word, Statement(node), "because" if reason else "")
