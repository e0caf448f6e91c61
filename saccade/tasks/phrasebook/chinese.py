"""Chinese: measure words, everything that describes a noun before it with 的, adverbials before the verb, 了 and 没.

A singular *the* is left unsaid, as it is in Chinese; a plural one is 那些. 把 takes a definite thing that is given.
"""

from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.lexicon import Adverb
from saccade.tasks.phrasebook.line import Token
from saccade.tasks.phrasebook.tree import Clause, Nominal, Phrase, Pronoun, Sentence, Statement

PRONOUNS = ("我", "你", "他", "她", "我们", "他们")
MODALS = {"will": "会", "want": "想", "can": "能", "must": "必须", "should": "应该"}
JOINS = {"and": "而", "but": "但是", "or": "或者", "so": "所以"}
PLACES = {"in": "里", "near": "附近", "behind": "后面", "before": "前面", "by": "旁边"}
# (words, whether a measure word follows) for singular and plural
DETERMINERS: dict[tuple[str, bool], tuple[str, bool]] = {
    ("the", False): ("", False),
    ("the", True): ("那些", False),
    ("a", False): ("一", True),
    ("this", False): ("这", True),
    ("this", True): ("这些", False),
    ("every", False): ("每", True),
    ("any", False): ("任何", False),
    ("some", True): ("一些", False),
    ("several", True): ("好几", True),
    ("many", True): ("很多", False),
    ("all", True): ("所有", False),
    ("generic", False): ("", False),
    ("generic", True): ("", False),
}
OWNERS = ("我的", "你的", "他的", "我们的", "他们的")
DETERMINERS |= {(mine, False): (word, False) for mine, word in zip(tree.POSSESSIVES, OWNERS, strict=True)}
DETERMINERS |= {(number, True): (word, True) for number, word in zip(tree.NUMERALS, "两三四五六七八九十", strict=True)}


def sentence(tree_: Sentence) -> list[Token]:
    out: list[Token] = []
    for i, unit in enumerate(tree_.units):
        if i:
            out.append(("，", (unit.key + tree.COMMA,)))
            _say(out, JOINS[tree_.joins[i - 1]], (unit.key + tree.LINK,))
        _unit(out, unit)
    out.append(("。", (tree.STOP,)))
    return out


def _say(out: list[Token], word: str, ids: tuple[int, ...]) -> None:
    out += [(character, ids) for character in word]


def _unit(out: list[Token], unit: Statement) -> None:
    """A subordinate clause comes first: 因为 … 所以, 如果, 当 … 的时候."""
    if other := unit.other:
        link = (other.key + tree.LINK,)
        _say(out, {"because": "因为", "if": "如果", "when": "当"}[unit.link], link)
        clause(out, other, aspect=unit.link != "when")
        if unit.link == "when":
            _say(out, "的时候", link)
        out.append(("，", (other.key + tree.COMMA,)))
        if unit.link == "because":
            _say(out, "所以", link)
    clause(out, unit.main)


def phrase(out: list[Token], node: Phrase) -> None:
    key = node.key
    if node.of:
        phrase(out, node.of)
        out.append(("的", (key + tree.OF,)))
    word, measured = DETERMINERS[node.determiner, node.plural]
    if node.determiner in tree.POSSESSIVES and any(a.chinese.endswith("的") for a in node.adjectives):
        word = word.removesuffix("的")  # 我聪明的朋友, not 我的聪明的朋友
    _say(out, word + node.noun.measure if measured else word, (key + tree.DETERMINER,))
    if node.relative:
        clause(out, node.relative, gap="object" if node.relative.subject else "subject")
        out.append(("的", (key + tree.RELATIVE,)))
    if node.about:
        _say(out, "关于", (key + tree.ABOUT,))
        phrase(out, node.about)
        out.append(("的", (key + tree.ABOUT,)))
    # A description with 的 stands before one without: 红色的小盒子.
    for bare in (False, True):
        for i, adjective in enumerate(node.adjectives):
            if bare == (not adjective.chinese.endswith("的")):
                _say(out, adjective.chinese, (key + tree.FIRST_ADJECTIVE + i,))
    _say(out, node.noun.chinese, (key + tree.NOUN,))


def nominal(out: list[Token], node: Nominal) -> None:
    if isinstance(node, Phrase):
        phrase(out, node)
    elif isinstance(node, Pronoun):
        _say(out, PRONOUNS[node.which], (node.key,))
    else:
        phrase(out, node.first)
        out.append(("和", (node.key + tree.AND,)))
        phrase(out, node.second)


def adverb(out: list[Token], node: Adverb | None, number: int) -> None:
    if node:
        for word, part in node.chinese:
            _say(out, word, (number + part - 1,))


def _topic(out: list[Token], node: Clause) -> None:
    if node.topic:
        out.append(("在", (node.key + tree.TOPIC,)))
        phrase(out, node.topic)
        out.append(("里", (node.key + tree.TOPIC,)))


def clause(out: list[Token], node: Clause, *, gap: str = "", aspect: bool = True) -> None:
    """`gap`: what a relative clause leaves out; `aspect`: False where 了 would be wrong (当 … 的时候)."""
    key = node.key
    if node.topic_first:
        _topic(out, node)
        out.append(("，", (key + tree.COMMA,)))
    if node.time_first:
        adverb(out, node.time, key + tree.TIME)
    if subject := node.subject:
        nominal(out, subject)
    if not node.time_first:
        adverb(out, node.time, key + tree.TIME)
    if not node.topic_first:
        _topic(out, node)
    if isinstance(subject, Phrase) and subject.determiner in ("every", "all"):
        out.append(("都", (subject.key + tree.DETERMINER,)))
    if node.verb is None:
        _predicate(out, node)
    else:
        _verb(out, node, gap, aspect)
    if node.that:
        clause(out, node.that)


def _predicate(out: list[Token], node: Clause) -> None:
    assert node.predicate is not None
    be, word = (node.key + tree.VERB,), node.predicate.chinese
    if node.negated:
        out.append(("不", (node.key + tree.NEGATION,)))
    if node.predicate.classifying:
        out.append(("是", be))
    elif node.degree:
        _say(out, {"very": "非常", "too": "太"}[node.degree], (node.key + tree.DEGREE,))
    elif not node.negated:
        out.append(("很", be))
    _say(out, word if node.predicate.classifying else word.removesuffix("的"), (node.key + tree.PREDICATE,))
    if node.degree == "too":
        out.append(("了", (node.key + tree.DEGREE,)))


def _verb(out: list[Token], node: Clause, gap: str, aspect: bool) -> None:
    verb, key = node.verb, node.key
    assert verb is not None
    tense, negation = (key + tree.TENSE,), (key + tree.NEGATION,)
    past = node.mood == "past"
    adverb(out, node.frequency, key + tree.FREQUENCY)
    word = verb.chinese
    if node.negated:
        if node.mood == "present" and verb.chinese_negative:
            word = verb.chinese_negative
        else:
            out.append(("没", negation + tense) if past else ("不", negation))
    if node.mood in MODALS:
        _say(out, MODALS[node.mood], tense)
    adverb(out, node.manner, key + tree.MANNER)
    if node.place:
        where, at = node.place
        out.append(("在", (key + tree.PLACE,)))
        phrase(out, at)
        _say(out, PLACES[where], (key + tree.PLACE,))
    particle = ""
    if past and not node.negated and aspect:
        particle = "过" if gap == "object" else "了"
    if node.recipient:
        _give(out, node, word.replace("*", particle))
        return
    if node.object and verb.chinese_before:
        _say(out, verb.chinese_before, (key + tree.PREPOSITION,))
        nominal(out, node.object)
    _word(out, node, word.replace("*", particle))
    if node.object and not verb.chinese_before:
        nominal(out, node.object)
        _say(out, verb.chinese_after, (key + tree.PREPOSITION,))


def _word(out: list[Token], node: Clause, word: str) -> None:
    """The verb with its particle; the present has none, so that the verb itself expresses the tense."""
    assert node.verb is not None
    key = node.key
    own = (key + tree.VERB, key + tree.TENSE) if node.mood == "present" else (key + tree.VERB,)
    special = {"了": key + tree.TENSE, "过": key + tree.TENSE}
    if word == node.verb.chinese_negative:
        special = {"不": key + tree.NEGATION, "没": key + tree.NEGATION}
    if node.recipient and len(word.rstrip("了")) > 1:
        special["给"] = key + tree.TO  # 寄给: send to; alone, 给 is to give
    out += [(character, (special[character],) if character in special else own) for character in word]


def _give(out: list[Token], node: Clause, word: str) -> None:
    """把书寄给了老师 where the book is definite, 寄给了老师一本书 where it is not."""
    thing, recipient = node.object, node.recipient
    assert isinstance(thing, Phrase) and recipient is not None
    definite = thing.determiner in tree.DEFINITE
    if definite:
        out.append(("把", ()))
        phrase(out, thing)
    _word(out, node, word)
    nominal(out, recipient)
    if not definite:
        phrase(out, thing)
