"""French: gender and number, adjectives on either side, clitics, *ne … pas*, elision and contraction."""

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import FEMININE, Adverb
from saccade.tasks.phrasebook.line import Token
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, Sentence, Statement, agreement

SUBJECT = ("je", "tu", "il", "elle", "nous", "ils")
DIRECT = ("me", "te", "le", "la", "nous", "les")
INDIRECT = ("me", "te", "lui", "lui", "nous", "leur")
STRONG = ("moi", "toi", "lui", "elle", "nous", "eux")
AVOIR = ("ai", "as", "a", "avons", "ont")
ETRE = ("suis", "es", "est", "sommes", "sont")
MODALS = {
    "will": ("vais", "vas", "va", "allons", "vont"),
    "want": ("veux", "veux", "veut", "voulons", "veulent"),
    "can": ("peux", "peux", "peut", "pouvons", "peuvent"),
    "must": ("dois", "dois", "doit", "devons", "doivent"),
    "should": ("devrais", "devrais", "devrait", "devrions", "devraient"),
}
JOINS = {"and": "et", "but": "mais", "or": "ou", "so": "donc"}
LINKS = {"because": ("parce", "que"), "when": ("quand",), "if": ("si",)}
DEGREES = {"very": "très", "too": "trop"}
PLACES = {
    "in": ("dans",),
    "near": ("près", "de"),
    "behind": ("derrière",),
    "before": ("devant",),
    "by": ("à", "côté", "de"),
}
# m sg, f sg, m pl, f pl
DETERMINERS = {
    "the": ("le", "la", "les", "les"),
    "a": ("un", "une", "", ""),
    "this": ("ce", "cette", "ces", "ces"),
    "my": ("mon", "ma", "", ""),
    "your": ("ton", "ta", "", ""),
    "his": ("son", "sa", "", ""),
    "our": ("notre", "notre", "", ""),
    "their": ("leur", "leur", "", ""),
    "every": ("chaque", "chaque", "", ""),
    "any": ("aucun", "aucune", "", ""),
    "some": ("", "", "quelques", "quelques"),
    "several": ("", "", "plusieurs", "plusieurs"),
    "many": ("", "", "beaucoup de", "beaucoup de"),
    "all": ("", "", "tous les", "toutes les"),
    "generic": ("le", "la", "les", "les"),
}
NUMERALS = ("deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix")
DETERMINERS |= {english: (word,) * 4 for english, word in zip(tree.NUMERALS, NUMERALS, strict=True)}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "ta": "ton", "sa": "son"}
ELIDED = {word: word[:-1] + "'" for word in ("le", "la", "de", "ne", "que", "je", "me", "te")}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
VOWELS = frozenset("aeiouhâàéèêëîïôûœ")
ASPIRATED = frozenset({"huit"})


def sentence(tree_: Sentence) -> list[Token]:
    out: list[Token] = []
    for i, unit in enumerate(tree_.units):
        if i:
            out += ((",", (unit.key + tree.COMMA,)), (JOINS[tree_.joins[i - 1]], (unit.key + tree.LINK,)))
        _unit(out, unit)
    out.append((".", (tree.STOP,)))
    return _elide(out)


def _vowel(word: str) -> bool:
    return word[0] in VOWELS and word not in ASPIRATED


def _elide(tokens: list[Token]) -> list[Token]:
    """*le homme* → *l'homme*, *de le chien* → *du chien*, *si il* → *s'il*; elision comes before contraction."""
    out: list[Token] = []
    for i, (word, ids) in enumerate(tokens[:-1]):
        following = tokens[i + 1][0]
        if (word in ELIDED and _vowel(following)) or (word == "si" and following in ("il", "ils")):
            word = word[:-1] + "'"
        if out and (merged := CONTRACTED.get((out[-1][0], word))):
            out[-1] = (merged, out[-1][1] + ids)
        else:
            out.append((word, ids))
    out.append(tokens[-1])
    return out


def _unit(out: list[Token], unit: Statement) -> None:
    if unit.other is None:
        clause(out, unit.main)
        return
    link = [(word, (unit.other.key + tree.LINK,)) for word in LINKS[unit.link]]
    if unit.link == "if":
        out += link
        clause(out, unit.other)
        out.append((",", (unit.other.key + tree.COMMA,)))
        clause(out, unit.main)
    else:
        clause(out, unit.main)
        out += link
        clause(out, unit.other)


def phrase(out: list[Token], node: Phrase) -> None:
    key, noun, plural = node.key, node.noun, node.plural
    form = noun.french_gender + 2 * plural
    word = noun.french[plural]
    group: list[Token] = [(part, (key + tree.NOUN,)) for part in word.split(" ")]
    for i, adjective in enumerate(node.adjectives):
        ids = (key + tree.FIRST_ADJECTIVE + i,)
        if adjective.before:
            group.insert(0, (adjective.french_vowel if form == 0 and _vowel(word) else adjective.french[form], ids))
        else:
            group.append((adjective.french[form], ids))
    determiner = DETERMINERS[node.determiner][form]
    if determiner in BEFORE_VOWEL and _vowel(group[0][0]):
        determiner = BEFORE_VOWEL[determiner]
    out += [(part, (key + tree.DETERMINER,)) for part in determiner.split(" ")]
    out += group
    if node.of:
        out.append(("de", (key + tree.OF,)))
        phrase(out, node.of)
    if node.about:
        out.append(("sur", (key + tree.ABOUT,)))
        phrase(out, node.about)
    if node.relative:
        out.append(("qui" if node.relative.subject is None else "que", (key + tree.RELATIVE,)))
        clause(out, node.relative, head=node)


def nominal(out: list[Token], node: Nominal, pronouns: tuple[str, ...], before: Token | None = None) -> None:
    """`before` is a preposition, said again before the second of two."""
    if before:
        out.append(before)
    if isinstance(node, Phrase):
        phrase(out, node)
    elif isinstance(node, Pronoun):
        out.append((pronouns[node.which], (node.key,)))
    else:
        phrase(out, node.first)
        out.append(("et", (node.key + tree.AND,)))
        if before:
            out.append(before)
        phrase(out, node.second)


def gender_and_number(node: Nominal) -> int:
    """0 m sg, 1 f sg, 2 m pl, 3 f pl; a speaker of unknown gender is masculine by convention."""
    if isinstance(node, Phrase):
        return node.noun.french_gender + 2 * node.plural
    if isinstance(node, Pronoun):
        return (0, 0, 0, 1, 2, 2)[node.which]
    return 2 + (node.first.noun.french_gender == node.second.noun.french_gender == FEMININE)


def _participle(word: str, form: int) -> str:
    feminine = word + "e" if form % 2 else word
    return feminine + "s" if form > 1 and not feminine.endswith("s") else feminine


def adverb(out: list[Token], node: Adverb | None, number: int) -> None:
    if node:
        for word, part in node.french:
            out.append((word, (number + part - 1,)))


def _topic(out: list[Token], node: Clause) -> None:
    if node.topic:
        out.append(("dans", (node.key + tree.TOPIC,)))
        phrase(out, node.topic)


def clause(out: list[Token], node: Clause, head: Phrase | None = None) -> None:
    key = node.key
    if node.topic_first:
        _topic(out, node)
        out.append((",", (key + tree.COMMA,)))
    if node.time_first:
        adverb(out, node.time, key + tree.TIME)
    if node.subject:
        nominal(out, node.subject, SUBJECT)
    _verb(out, node, head)
    preposition = node.verb.french_preposition if node.verb else ""
    if node.object and not (isinstance(node.object, Pronoun) and preposition in ("", "à")):
        before = (preposition, (key + tree.PREPOSITION,)) if preposition else None
        nominal(out, node.object, STRONG, before)
    if node.recipient and not isinstance(node.recipient, Pronoun):
        nominal(out, node.recipient, STRONG, ("à", (key + tree.TO,)))
    if node.place:
        where, at = node.place
        out += [(word, (key + tree.PLACE,)) for word in PLACES[where]]
        phrase(out, at)
    if not node.time_first:
        adverb(out, node.time, key + tree.TIME)
    if not node.topic_first:
        _topic(out, node)
    if node.that:
        out.append(("que", (key + tree.THAT,)))
        clause(out, node.that)


def _clitic(node: Clause) -> list[Token]:
    """The pronoun that stands before the verb, if there is one."""
    assert node.verb is not None
    if isinstance(node.recipient, Pronoun):
        return [(INDIRECT[node.recipient.which], (node.recipient.key, node.key + tree.TO))]
    if isinstance(node.object, Pronoun) and node.verb.french_preposition in ("", "à"):
        forms = INDIRECT if node.verb.french_preposition else DIRECT
        return [(forms[node.object.which], (node.object.key,))]
    return []


def _verb(out: list[Token], node: Clause, head: Phrase | None) -> None:
    key = node.key
    verb, tense, negation = (key + tree.VERB,), (key + tree.TENSE,), (key + tree.NEGATION,)
    subject = node.subject or head
    assert subject is not None
    person = agreement(subject)
    never = node.frequency is not None and node.frequency.name == "never"
    if node.negated:
        out.append(("ne", negation))
    elif never:
        out.append(("ne", (key + tree.FREQUENCY,)))
    # ne … aucun: the object itself carries the second half of the negation
    bare = isinstance(node.object, Phrase) and node.object.determiner == "any"
    second: list[Token] = [("pas", negation)] if node.negated and not bare else []
    if node.verb is None:
        assert node.predicate is not None
        out.append((ETRE[person], verb))
        out += second
        if node.degree:
            out.append((DEGREES[node.degree], (key + tree.DEGREE,)))
        out.append((node.predicate.french[gender_and_number(subject)], (key + tree.PREDICATE,)))
        return
    clitic = _clitic(node)
    if node.mood == "present":
        out += clitic
        out.append((node.verb.french[person], verb + tense))
        out += second
    elif node.mood == "past":
        out += clitic
        out.append(((ETRE if node.verb.french_etre else AVOIR)[person], tense))
        out += second
        out.append((_participle(node.verb.french_participle, _participle_form(node, subject, head)), verb))
    else:
        out.append((MODALS[node.mood][person], tense))
        out += second
        out += clitic
        out.append((node.verb.french_infinitive, verb))
    adverb(out, node.frequency, key + tree.FREQUENCY)
    adverb(out, node.manner, key + tree.MANNER)


def _participle_form(node: Clause, subject: Nominal, head: Phrase | None) -> int:
    """With *être* the participle agrees with the subject, with *avoir* with a direct object that comes before it."""
    assert node.verb is not None
    if node.verb.french_etre:
        return gender_and_number(subject)
    if node.verb.french_preposition:
        return 0
    if isinstance(node.object, Pronoun):
        return gender_and_number(node.object)
    if head is not None and node.subject is not None:
        return gender_and_number(head)
    return 0
