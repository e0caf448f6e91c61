"""Which combinations of words belong to which split.

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
from hashlib import blake2b

from saccade.tasks.phrasebook.tree import Clause, Coordination, Nominal, Phrase, Pronoun, Sentence

Combination = tuple[str, str, str]  # "subject" | "object" | "adjective", then the two words' names
PRONOUN_NAMES = ("I", "you", "he", "she", "we", "they")
WITH_OWN_FORMS = ("I", "you", "we")


@cache
def split_of(kind: str, first: str, second: str) -> str:
    """The split that owns a combination; one that is not reserved belongs to `train` and may occur everywhere."""
    if kind == "subject" and first in WITH_OWN_FORMS:
        return "train"
    drawn = int.from_bytes(blake2b(f"{kind}\t{first}\t{second}".encode(), digest_size=8).digest()) % 20
    return "test" if drawn < 2 else "valid" if drawn == 2 else "train"


def allowed(split: str, kind: str, first: str, second: str) -> bool:
    return split_of(kind, first, second) in ("train", split)


def _heads(node: Nominal) -> tuple[str, ...]:
    if isinstance(node, Pronoun):
        return (PRONOUN_NAMES[node.which],)
    if isinstance(node, Coordination):
        return _heads(node.first) + _heads(node.second)
    return () if node.determiner == "generic" else (node.noun.name,)


def combinations(sentence: Sentence) -> Iterator[Combination]:
    """Every combination in a sentence."""
    for statement in sentence.statements:
        yield from _in_clause(statement.main)
        if statement.other:
            yield from _in_clause(statement.other)


def _in_clause(node: Clause, head: Phrase | None = None) -> Iterator[Combination]:
    subject = node.subject or head
    assert subject is not None
    for name in _heads(subject):
        if node.verb:
            yield "subject", name, node.verb.name
        elif node.predicate:
            yield "adjective", node.predicate.name, name
    gap = head if node.subject is not None else None
    if node.verb and (object_ := node.object or gap):
        for name in _heads(object_):
            yield "object", node.verb.name, name
    for nominal in (node.subject, node.object, node.recipient, node.topic, node.place[1] if node.place else None):
        if nominal:
            yield from _in_nominal(nominal)
    if node.that:
        yield from _in_clause(node.that)


def _in_nominal(node: Nominal) -> Iterator[Combination]:
    if isinstance(node, Coordination):
        yield from _in_nominal(node.first)
        yield from _in_nominal(node.second)
    elif isinstance(node, Phrase):
        for adjective in node.adjectives:
            if not adjective.cue:
                yield "adjective", adjective.name, node.noun.name
        if node.of:
            yield from _in_nominal(node.of)
        if node.relative:
            yield from _in_clause(node.relative, head=node)
