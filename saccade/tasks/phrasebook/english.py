"""English: the abstract sentence in words."""

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import Adverb
from saccade.tasks.phrasebook.line import Token
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, Sentence, Statement, agreement

SUBJECT = ("I", "you", "he", "she", "we", "they")
OBJECT = ("me", "you", "him", "her", "us", "them")
DO = ("do", "do", "does", "do", "do")
BE = ("am", "are", "is", "are", "are")
PLACES = {"in": ("in",), "near": ("near",), "behind": ("behind",), "before": ("in", "front", "of"), "by": ("beside",)}
DETERMINERS = {"all": ("all", "the"), "generic": ()}


def sentence(tree_: Sentence) -> list[Token]:
    out: list[Token] = []
    for i, unit in enumerate(tree_.units):
        if i:
            out += ((",", (unit.key + tree.COMMA,)), (tree_.joins[i - 1], (unit.key + tree.LINK,)))
        _unit(out, unit)
    out.append((".", (tree.STOP,)))
    for i, (word, ids) in enumerate(out):
        if word == "a" and out[i + 1][0][0] in "aeiou":
            out[i] = ("an", ids)
    return out


def _unit(out: list[Token], unit: Statement) -> None:
    if unit.other is None:
        clause(out, unit.main)
    elif unit.link == "if":
        out.append(("if", (unit.other.key + tree.LINK,)))
        clause(out, unit.other)
        out.append((",", (unit.other.key + tree.COMMA,)))
        clause(out, unit.main)
    else:
        clause(out, unit.main)
        out.append((unit.link, (unit.other.key + tree.LINK,)))
        clause(out, unit.other)


def nominal(out: list[Token], node: Nominal, forms: tuple[str, ...]) -> None:
    if isinstance(node, Phrase):
        phrase(out, node)
    elif isinstance(node, Pronoun):
        out.append((forms[node.which], (node.key,)))
    else:
        phrase(out, node.first)
        out.append(("and", (node.key + tree.AND,)))
        phrase(out, node.second)


def phrase(out: list[Token], node: Phrase) -> None:
    key = node.key
    determiner = "these" if node.determiner == "this" and node.plural else node.determiner
    for word in DETERMINERS.get(determiner, (determiner,)):
        out.append((word, (key + tree.DETERMINER,)))
    for i, adjective in enumerate(node.adjectives):
        out.append((adjective.name, (key + tree.FIRST_ADJECTIVE + i,)))
    out.append((node.noun.english[node.plural], (key + tree.NOUN,)))
    if node.of:
        out.append(("of", (key + tree.OF,)))
        phrase(out, node.of)
    if node.about:
        out.append(("about", (key + tree.ABOUT,)))
        phrase(out, node.about)
    if node.relative:
        who = node.relative.subject is None and "human" in node.noun.kinds
        out.append(("who" if who else "that", (key + tree.RELATIVE,)))
        clause(out, node.relative, head=node)


def adverb(out: list[Token], node: Adverb | None, number: int) -> None:
    if node:
        for word, part in node.english:
            out.append((word, (number + part - 1,)))


def _topic(out: list[Token], node: Clause) -> None:
    if node.topic:
        out.append(("in", (node.key + tree.TOPIC,)))
        phrase(out, node.topic)


def clause(out: list[Token], node: Clause, head: Phrase | None = None) -> None:
    """`head` is the noun phrase that a relative clause describes; it fills the gap."""
    key = node.key
    subject = node.subject or head
    assert subject is not None
    if node.topic_first:
        _topic(out, node)
        out.append((",", (key + tree.COMMA,)))
    if node.time_first:
        adverb(out, node.time, key + tree.TIME)
    if node.subject:
        nominal(out, node.subject, SUBJECT)
    _verb(out, node, agreement(subject))
    if node.verb and node.verb.english_preposition:
        out.append((node.verb.english_preposition, (key + tree.PREPOSITION,)))
    if node.object:
        nominal(out, node.object, OBJECT)
    if node.recipient:
        out.append(("to", (key + tree.TO,)))
        nominal(out, node.recipient, OBJECT)
    if node.place:
        where, at = node.place
        out += [(word, (key + tree.PLACE,)) for word in PLACES[where]]
        phrase(out, at)
    if not node.time_first:
        adverb(out, node.time, key + tree.TIME)
    if not node.topic_first:
        _topic(out, node)
    if node.that:
        out.append(("that", (key + tree.THAT,)))
        clause(out, node.that)


def _verb(out: list[Token], node: Clause, person: int) -> None:
    key = node.key
    verb, tense, negation = (key + tree.VERB,), (key + tree.TENSE,), (key + tree.NEGATION,)
    if node.verb is None:
        assert node.predicate is not None
        out.append((BE[person], verb))
        if node.negated:
            out.append(("not", negation))
        if node.degree:
            out.append((node.degree, (key + tree.DEGREE,)))
        out.append((node.predicate.name, (key + tree.PREDICATE,)))
        return
    base, third, past = node.verb.english
    adverb(out, node.frequency, key + tree.FREQUENCY)
    adverb(out, node.manner, key + tree.MANNER)
    if node.mood in ("present", "past") and not node.negated:
        out.append((past if node.mood == "past" else third if person == tree.THIRD else base, verb + tense))
        return
    if node.mood in ("present", "past", "want"):
        if node.negated:
            out += [("did" if node.mood == "past" else DO[person], tense), ("not", negation)]
        if node.mood == "want":
            out.append(("wants" if person == tree.THIRD and not node.negated else "want", tense))
            out.append(("to", tense))
    elif node.mood == "can" and node.negated:
        out.append(("cannot", tense + negation))
    else:
        out.append((node.mood, tense))
        if node.negated:
            out.append(("not", negation))
    out.append((base, verb))
