"""German: three genders, four cases, three declensions of the adjective, and where the verb goes.

The finite verb is second in a main clause and last in a subordinate one; infinitive, participle and separable prefix
close the bracket. The middle field runs: subject, pronouns, time, frequency, dative, accusative, manner, *nicht*,
place, prepositional object, topic.
"""

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import ACCUSATIVE, DATIVE, GENITIVE, NOMINATIVE, Adverb
from saccade.tasks.phrasebook.line import Token
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, Sentence, Statement, agreement

PRONOUNS = (
    ("ich", "du", "er", "sie", "wir", "sie"),
    ("mich", "dich", "ihn", "sie", "uns", "sie"),
    ("mir", "dir", "ihm", "ihr", "uns", "ihnen"),
)
HABEN = ("habe", "hast", "hat", "haben", "haben")
SEIN = ("bin", "bist", "ist", "sind", "sind")
MODALS = {
    "will": ("werde", "wirst", "wird", "werden", "werden"),
    "want": ("will", "willst", "will", "wollen", "wollen"),
    "can": ("kann", "kannst", "kann", "können", "können"),
    "must": ("muss", "musst", "muss", "müssen", "müssen"),
    "should": ("sollte", "solltest", "sollte", "sollten", "sollten"),
}
JOINS = {"and": "und", "but": "aber", "or": "oder", "so": "deshalb"}
LINKS = {"because": "weil", "when": "als", "if": "wenn"}
DEGREES = {"very": "sehr", "too": "zu"}
PLACES = {
    "in": (("in",), DATIVE),
    "near": (("in", "der", "Nähe"), GENITIVE),
    "behind": (("hinter",), DATIVE),
    "before": (("vor",), DATIVE),
    "by": (("neben",), DATIVE),
}
# [case][m f n pl]
ARTICLE = (
    ("der", "die", "das", "die"),
    ("den", "die", "das", "die"),
    ("dem", "der", "dem", "den"),
    ("des", "der", "des", "der"),
)
RELATIVE = (*ARTICLE[:2], ("dem", "der", "dem", "denen"))
STRONG = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"), ("es", "er", "es", "er"))
INDEFINITE = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"), ("es", "er", "es", "er"))
WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en",) * 4, ("en",) * 4)
MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en",) * 4, ("en",) * 4)
# determiner -> (stem, its endings, the endings of an adjective after it)
Endings = tuple[tuple[str, ...], ...]
NONE: Endings = (("",) * 4,) * 4
DETERMINERS: dict[str, tuple[str, Endings, Endings]] = {
    "the": ("", ARTICLE, WEAK),
    "this": ("dies", STRONG, WEAK),
    "every": ("jed", STRONG, WEAK),
    "all": ("all", STRONG, WEAK),
    "a": ("ein", INDEFINITE, MIXED),
    "any": ("kein", INDEFINITE, MIXED),
    "my": ("mein", INDEFINITE, MIXED),
    "your": ("dein", INDEFINITE, MIXED),
    "his": ("sein", INDEFINITE, MIXED),
    "our": ("unser", INDEFINITE, MIXED),
    "their": ("ihr", INDEFINITE, MIXED),
    "some": ("einig", STRONG, STRONG),
    "several": ("mehrer", STRONG, STRONG),
    "many": ("viel", STRONG, STRONG),
    "generic": ("", NONE, STRONG),
}
NUMERALS = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
DETERMINERS |= {english: (word, NONE, STRONG) for english, word in zip(tree.NUMERALS, NUMERALS, strict=True)}
CONTRACTED = {("in", "dem"): "im", ("in", "das"): "ins", ("von", "dem"): "vom"}


def sentence(tree_: Sentence) -> list[Token]:
    out: list[Token] = []
    for i, unit in enumerate(tree_.units):
        if not i:
            _unit(out, unit, [])
            continue
        join = tree_.joins[i - 1]
        link = (JOINS[join], (unit.key + tree.LINK,))
        out.append((",", (unit.key + tree.COMMA,)))
        if join == "so":  # deshalb is an adverb: it takes the first place and the verb follows
            _unit(out, unit, [link])
        else:
            out.append(link)
            _unit(out, unit, [])
    out.append((".", (tree.STOP,)))
    return _one_comma(out)


def _one_comma(tokens: list[Token]) -> list[Token]:
    """A comma that closes a clause is not written before another comma or the stop; that one says both."""
    out: list[Token] = []
    for i, (word, ids) in enumerate(tokens):
        if word == "," and tokens[i + 1][0] in (",", "."):
            continue
        out.append((word, ids))
    return out


def _unit(out: list[Token], unit: Statement, front: list[Token]) -> None:
    other = unit.other
    if other is None:
        main_clause(out, unit.main, front)
        return
    comma = (",", (other.key + tree.COMMA,))
    link = (LINKS[unit.link], (other.key + tree.LINK,))
    if unit.link == "if":
        front = [link]
        final_clause(front, other)
        front.append(comma)
        main_clause(out, unit.main, front)
    else:
        main_clause(out, unit.main, front)
        out += [(",", ()), link]
        final_clause(out, other)
        out.append((",", ()))


def phrase(out: list[Token], node: Phrase, case: int, extra: tuple[int, ...] = ()) -> None:
    """`extra`: what a case expresses where English needs a word (*of*, *to*), carried by the determiner."""
    key, noun, plural = node.key, node.noun, node.plural
    column = 3 if plural else noun.german_gender
    stem, endings, adjective_endings = DETERMINERS[node.determiner]
    if determiner := stem + endings[case][column]:
        out.append((determiner, (key + tree.DETERMINER, *extra)))
    for i, adjective in enumerate(node.adjectives):
        out.append((adjective.german_stem + adjective_endings[case][column], (key + tree.FIRST_ADJECTIVE + i,)))
    out.append((noun.german[plural][case], (key + tree.NOUN,)))
    if node.of:
        phrase(out, node.of, GENITIVE, (key + tree.OF,))
    if node.about:
        out.append(("über", (key + tree.ABOUT,)))
        phrase(out, node.about, ACCUSATIVE)
    if relative := node.relative:
        gap = NOMINATIVE
        if relative.subject is not None:
            assert relative.verb is not None
            gap = relative.verb.german_case
        out += [(",", ()), (RELATIVE[gap][column], (key + tree.RELATIVE,))]
        final_clause(out, relative, head=node)
        out.append((",", ()))


def nominal(out: list[Token], node: Nominal, case: int, extra: tuple[int, ...] = ()) -> None:
    if isinstance(node, Phrase):
        phrase(out, node, case, extra)
    elif isinstance(node, Pronoun):
        out.append((PRONOUNS[case][node.which], (node.key, *extra)))
    else:
        phrase(out, node.first, case, extra)
        out.append(("und", (node.key + tree.AND,)))
        phrase(out, node.second, case)


def _prepositional(
    out: list[Token],
    words: tuple[str, ...],
    ids: tuple[int, ...],
    node: Nominal,
    case: int,
    extra: tuple[int, ...] = (),
) -> None:
    out += [(word, ids) for word in words]
    start = len(out)
    nominal(out, node, case, extra)
    article, article_ids = out[start]
    if merged := CONTRACTED.get((words[-1], article)):
        out[start - 1 : start + 1] = [(merged, ids + article_ids)]


def adverb(out: list[Token], node: Adverb | None, number: int) -> None:
    if node:
        for word, part in node.german:
            out.append((word, (number + part - 1,)))


def _topic(out: list[Token], node: Clause) -> None:
    if node.topic:
        _prepositional(out, ("in",), (node.key + tree.TOPIC,), node.topic, DATIVE)


def main_clause(out: list[Token], node: Clause, front: list[Token]) -> None:
    """Verb second: `front`, a fronted adverbial or the subject; the finite verb; the rest; the end of the bracket."""
    assert node.subject is not None
    first = list(front)
    if node.topic_first:
        _topic(first, node)
    if node.time_first:
        adverb(first, node.time, node.key + tree.TIME)
    finite, bracket = _verb(node, agreement(node.subject))
    if first:
        out += first
        out.append(finite)
        nominal(out, node.subject, NOMINATIVE)
    else:
        nominal(out, node.subject, NOMINATIVE)
        out.append(finite)
    _middle(out, node)
    out += bracket
    if node.that:
        out += [(",", ()), ("dass", (node.key + tree.THAT,))]
        final_clause(out, node.that)
        out.append((",", ()))


def final_clause(out: list[Token], node: Clause, head: Phrase | None = None) -> None:
    """Verb last; a separable prefix is written together with its verb again."""
    subject = node.subject or head
    assert subject is not None
    if node.subject:
        nominal(out, node.subject, NOMINATIVE)
    _middle(out, node)
    finite, bracket = _verb(node, agreement(subject))
    if bracket and node.verb and bracket[0][0] == node.verb.german_prefix:
        out.append((bracket[0][0] + finite[0], finite[1]))
    else:
        out += [*bracket, finite]
    if node.that:
        out += [(",", ()), ("dass", (node.key + tree.THAT,))]
        final_clause(out, node.that)
        out.append((",", ()))


def _verb(node: Clause, person: int) -> tuple[Token, list[Token]]:
    """The finite verb, and what closes the bracket: prefix, participle or infinitive."""
    verb, tense = (node.key + tree.VERB,), (node.key + tree.TENSE,)
    if node.verb is None:
        return (SEIN[person], verb), []
    if node.mood == "present":
        prefix = node.verb.german_prefix
        return (node.verb.german[person], verb + tense), [(prefix, verb)] if prefix else []
    if node.mood == "past":
        auxiliary = SEIN if node.verb.german_sein else HABEN
        return (auxiliary[person], tense), [(node.verb.german_participle, verb)]
    return (MODALS[node.mood][person], tense), [(node.verb.german_infinitive, verb)]


def _middle(out: list[Token], node: Clause) -> None:
    key = node.key
    verb, object_, recipient = node.verb, node.object, node.recipient
    case = verb.german_case if verb else NOMINATIVE
    plain = object_ is not None and verb is not None and not verb.german_preposition
    pronoun = plain and isinstance(object_, Pronoun)
    to = (key + tree.TO,)
    if object_ and pronoun:
        nominal(out, object_, case)
    if isinstance(recipient, Pronoun):
        nominal(out, recipient, DATIVE, to)
    if not node.time_first:
        adverb(out, node.time, key + tree.TIME)
    adverb(out, node.frequency, key + tree.FREQUENCY)
    if recipient and not isinstance(recipient, Pronoun):
        nominal(out, recipient, DATIVE, to)
    # kein carries the negation itself; *not* is then part of what it expresses
    none = isinstance(object_, Phrase) and object_.determiner == "any"
    negation = (key + tree.NEGATION,)
    extra = negation if none else ()
    if object_ and plain and not pronoun:
        nominal(out, object_, case, extra)
    adverb(out, node.manner, key + tree.MANNER)
    if node.negated and not none:
        out.append(("nicht", negation))
    if node.place:
        words, place_case = PLACES[node.place[0]]
        _prepositional(out, words, (key + tree.PLACE,), node.place[1], place_case)
    if object_ and verb and verb.german_preposition:
        _prepositional(out, (verb.german_preposition,), (key + tree.PREPOSITION,), object_, case, extra)
    if not node.topic_first:
        _topic(out, node)
    if node.predicate:
        if node.degree:
            out.append((DEGREES[node.degree], (key + tree.DEGREE,)))
        out.append((node.predicate.german, (key + tree.PREDICATE,)))
