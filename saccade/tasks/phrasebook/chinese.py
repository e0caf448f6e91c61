"""Chinese: measure words, everything that describes a noun before it with 的, adverbials before the verb, 了 and 没.

A singular *the* is left unsaid, as it is in Chinese; a plural one is 那些. 把 takes a definite thing that is given.
"""

from collections.abc import Sequence

from saccade.tasks.phrasebook.lexicon import Verb
from saccade.tasks.phrasebook.tree import DEFINITE, POSSESSIVES, Clause, Meaning, Phrase, Statement
from saccade.tasks.phrasebook.writer import Writer


class Chinese(Writer):
    language = "zh"
    comma, stop = "，", "。"

    def write(self, words: str | Sequence[str], *meanings: Meaning) -> None:
        """Each character is a token."""
        self.tokens += [(character, meanings) for word in words for character in word]

    def statement(self, node: Statement) -> None:
        """A subordinate clause comes first: 因为 … 所以, 如果, 当 … 的时候."""
        if other := node.other:
            link = (other, "link")
            self.write(self.words["links"][node.link], link)
            self.clause(other, aspect=node.link != "when")
            if node.link == "when":
                self.write("的时候", link)
            self.write("，", (other, "comma"))
            if node.link == "because":
                self.write("所以", link)
        self.clause(node.main)

    def phrase(self, node: Phrase) -> None:
        if node.of:
            self.phrase(node.of)
            self.write("的", (node, "of"))
        (word,) = self.words["plural" if node.plural else "singular"][node.determiner]
        if node.determiner in POSSESSIVES and any(a.chinese.endswith("的") for a in node.adjectives):
            word = word.removesuffix("的")  # 我聪明的朋友, not 我的聪明的朋友
        self.write(word.replace("+", node.noun.measure), (node, "determiner"))
        if node.relative:
            self.clause(node.relative)
            self.write("的", (node, "relative"))
        if node.about:
            self.write("关于", (node, "about"))
            self.phrase(node.about)
            self.write("的", (node, "about"))
        # A description with 的 stands before one without: 红色的小盒子.
        for i, adjective in sorted(enumerate(node.adjectives), key=lambda item: not item[1].chinese.endswith("的")):
            self.write(adjective.chinese, (node, f"adjective {i}"))
        self.write(node.noun.chinese, (node, "noun"))

    def topic(self, node: Clause) -> None:
        self.inside(node.topic, "里", (node, "topic"))

    def inside(self, phrase: Phrase | None, where: str | Sequence[str], meaning: Meaning) -> None:
        if phrase:
            self.write("在", meaning)
            self.phrase(phrase)
            self.write(where, meaning)

    def clause(self, node: Clause, *, aspect: bool = True) -> None:
        """`aspect`: False where 了 would be wrong (当 … 的时候)."""
        self.time_and_topic(node, first=True)
        self.nominal(node.subject, "all")
        self.time_and_topic(node, first=False)
        if isinstance(node.subject, Phrase) and node.subject.determiner in ("every", "all"):
            self.write("都", (node.subject, "determiner"))
        if node.verb is None:
            self.predicate(node)
        else:
            self.verb_phrase(node, node.verb, aspect)
        if node.that:
            self.clause(node.that)

    def predicate(self, node: Clause) -> None:
        assert node.predicate is not None
        be, word = (node, "verb"), node.predicate.chinese
        self.write("不" * node.negated, (node, "negation"))
        if node.predicate.classifying:
            self.write("是", be)
        elif node.degree:
            self.write(self.words["degrees"][node.degree], (node, "degree"))
        elif not node.negated:
            self.write("很", be)
        self.write(word if node.predicate.classifying else word.removesuffix("的"), (node, "predicate"))
        if node.degree == "too":
            self.write("了", (node, "degree"))

    def verb_phrase(self, node: Clause, verb: Verb, aspect: bool) -> None:
        word, past = verb.chinese, node.mood == "past"
        tense, negation = (node, "tense"), (node, "negation")
        self.adverb(node.frequency, node, "frequency")
        if node.negated and node.mood == "present" and verb.chinese_negative:
            word = verb.chinese_negative
        elif node.negated:
            self.write("没" if past else "不", negation, *((tense,) if past else ()))
        self.write(self.words["modals"].get(node.mood, ""), tense)
        self.adverb(node.manner, node, "manner")
        self.inside(node.place, self.words["places"].get(node.where, ""), (node, "place"))
        has_particle = past and not node.negated and aspect
        word = word.replace("*", ("过" if node.fronted else "了") if has_particle else "")
        if node.recipient:
            self.give(node, verb, word)
            return
        if node.object and verb.chinese_before:
            self.write(verb.chinese_before, (node, "preposition"))
            self.nominal(node.object, "all")
        self.verb_word(node, verb, word)
        if node.object and not verb.chinese_before:
            self.nominal(node.object, "all")
            self.write(verb.chinese_after, (node, "preposition"))

    def verb_word(self, node: Clause, verb: Verb, word: str) -> None:
        """The verb with its particle; the present has none, so that the verb itself expresses the tense."""
        usual = ((node, "verb"), (node, "tense")) if node.mood == "present" else ((node, "verb"),)
        special = {"了": (node, "tense"), "过": (node, "tense")}
        if word == verb.chinese_negative:
            special = {"不": (node, "negation"), "没": (node, "negation")}
        if node.recipient and len(word.rstrip("了")) > 1:
            special["给"] = (node, "to")  # 寄给: send to; alone, 给 is to give
        self.tokens += [(character, (special[character],) if character in special else usual) for character in word]

    def give(self, node: Clause, verb: Verb, word: str) -> None:
        """把书寄给了老师 where the book is definite, 寄给了老师一本书 where it is not."""
        definite = isinstance(node.object, Phrase) and node.object.determiner in DEFINITE
        self.write("把" * definite)
        self.nominal(node.object if definite else None, "all")
        self.verb_word(node, verb, word)
        self.nominal(node.recipient, "all")
        self.nominal(None if definite else node.object, "all")
