"""Hand-worked sentences: one abstract tree, four languages, word for word."""

import pytest

from saccade.tasks.phrasebook.lexicon import Adjective, Adverb, Noun, Verb, lexicon
from saccade.tasks.phrasebook.task import WRITERS
from saccade.tasks.phrasebook.tree import Clause, Coordination, Phrase, Pronoun, Sentence, Statement
from saccade.tasks.phrasebook.writer import align, spell

I, YOU, HE, SHE, WE, THEY = range(6)  # noqa: E741


class Build:
    """Builds trees."""

    def pro(self, which: int) -> Pronoun:
        return Pronoun(which)

    def np(self, determiner: str, *words: str, plural: bool = False) -> Phrase:
        *adjectives, name = words
        return Phrase(noun(name), determiner, plural, tuple(adjective(a) for a in adjectives))

    def clause(self, subject: Pronoun | Phrase | Coordination | None, name: str | None, **rest: object) -> Clause:
        node = Clause(subject, verb(name) if name else None)
        for field, value in rest.items():
            setattr(node, field, value)
        return node

    def say(self, main: Clause, link: str = "", other: Clause | None = None) -> dict[str, str]:
        tree = Sentence([Statement(main, link, other)])
        return {language: spell(write().sentence(tree), language) for language, write in WRITERS.items()}


def noun(name: str) -> Noun:
    return next(n for n in lexicon().nouns if n.name == name)


def verb(name: str) -> Verb:
    return next(v for v in lexicon().verbs if v.name == name)


def adjective(name: str) -> Adjective:
    return next(a for a in lexicon().adjectives if a.name == name)


def adverb(name: str) -> Adverb:
    return next(a for a in lexicon().adverbs if a.name == name)


@pytest.fixture
def b() -> Build:
    return Build()


def check(texts: dict[str, str], en: str, fr: str, de: str, zh: str) -> None:
    assert texts == {"en": en, "fr": fr, "de": de, "zh": zh}


def test_german_modal_bracket_and_dative(b: Build) -> None:
    texts = b.say(b.clause(b.pro(I), "help", mood="want", object=b.np("the", "man")))
    check(texts, "I want to help the man.", "je veux aider l'homme.", "ich will dem Mann helfen.", "我想帮助男人。")


def test_german_verb_is_last_in_a_subordinate_clause(b: Build) -> None:
    reason = b.clause(b.pro(HE), "call", object=b.np("the", "old", "woman"))
    check(
        b.say(b.clause(b.np("the", "dog", plural=True), "sleep"), "because", reason),
        "the dogs sleep because he calls the old woman.",
        "les chiens dorment parce qu'il appelle la vieille femme.",
        "die Hunde schlafen, weil er die alte Frau anruft.",
        "因为他给年老的女人打电话，所以那些狗睡觉。",
    )


def test_german_verb_precedes_the_subject_after_a_condition(b: Build) -> None:
    check(
        b.say(b.clause(b.pro(WE), "leave", mood="will"), "if", b.clause(b.pro(HE), "sing")),
        "if he sings, we will leave.",
        "s'il chante, nous allons partir.",
        "wenn er singt, werden wir abreisen.",
        "如果他唱歌，我们会离开。",
    )


def test_when_in_the_past(b: Build) -> None:
    check(
        b.say(
            b.clause(b.pro(SHE), "go to", mood="past", object=b.np("the", "museum")),
            "when",
            b.clause(b.pro(THEY), "eat", mood="past", object=b.np("a", "apple")),
        ),
        "she went to the museum when they ate an apple.",
        "elle est allée au musée quand ils ont mangé une pomme.",
        "sie ist ins Museum gegangen, als sie einen Apfel gegessen haben.",
        "当他们吃一个苹果的时候，她去了博物馆。",
    )


def test_negation(b: Build) -> None:
    check(
        b.say(b.clause(b.pro(I), "see", negated=True, object=b.np("the", "cat"))),
        "I do not see the cat.",
        "je ne vois pas le chat.",
        "ich sehe die Katze nicht.",
        "我看不见猫。",
    )
    check(
        b.say(b.clause(b.pro(SHE), "eat", mood="past", negated=True, object=b.np("any", "fresh", "egg"))),
        "she did not eat any fresh egg.",
        "elle n'a mangé aucun œuf frais.",
        "sie hat kein frisches Ei gegessen.",
        "她没吃任何新鲜的鸡蛋。",
    )
    check(
        b.say(b.clause(b.pro(HE), "work", mood="can", negated=True, where="in", place=b.np("the", "kitchen"))),
        "he cannot work in the kitchen.",
        "il ne peut pas travailler dans la cuisine.",
        "er kann nicht in der Küche arbeiten.",
        "他不能在厨房里工作。",
    )
    never = b.clause(b.np("my", "friend"), "drink", frequency=adverb("never"), object=b.np("the", "coffee"))
    check(
        b.say(never),
        "my friend never drinks the coffee.",
        "mon ami ne boit jamais le café.",
        "mein Freund trinkt nie den Kaffee.",
        "我的朋友从不喝咖啡。",
    )


def test_adjectives_agree_with_their_noun(b: Build) -> None:
    check(
        b.say(
            b.clause(b.np("a", "beautiful", "man"), "have", object=b.np("two", "small", "white", "box", plural=True))
        ),
        "a beautiful man has two small white boxes.",
        "un bel homme a deux petites boîtes blanches.",
        "ein schöner Mann hat zwei kleine weiße Schachteln.",
        "一个漂亮的男人有两个白色的小盒子。",
    )
    check(
        b.say(b.clause(b.np("this", "clever", "child"), None, predicate=adjective("tired"), degree="too")),
        "this clever child is too tired.",
        "cet enfant intelligent est trop fatigué.",
        "dieses kluge Kind ist zu müde.",
        "这个聪明的孩子太疲倦了。",
    )


def test_relative_clauses(b: Build) -> None:
    head = b.np("the", "girl")
    head.describe(b.clause(None, "buy", mood="past", object=b.np("a", "flower")))
    check(
        b.say(b.clause(head, "laugh")),
        "the girl who bought a flower laughs.",
        "la fille qui a acheté une fleur rit.",
        "das Mädchen, das eine Blume gekauft hat, lacht.",
        "买了一朵花的女孩笑。",
    )
    story = b.np("the", "story", plural=True)
    story.describe(b.clause(b.np("the", "boy"), "write", mood="past"))
    check(
        b.say(b.clause(b.pro(I), "read", object=story)),
        "I read the stories that the boy wrote.",
        "je lis les histoires que le garçon a écrites.",
        "ich lese die Geschichten, die der Junge geschrieben hat.",
        "我读那些男孩写过的故事。",
    )
    neighbour = b.np("the", "neighbour")
    neighbour.describe(b.clause(b.pro(YOU), "thank"))
    assert b.say(b.clause(b.pro(HE), "know", object=neighbour))["de"] == "er kennt den Nachbarn, dem du dankst."


def test_giving_and_pronouns(b: Build) -> None:
    check(
        b.say(b.clause(b.np("the", "king"), "send", mood="past", object=b.np("the", "book"), recipient=b.pro(WE))),
        "the king sent the book to us.",
        "le roi nous a envoyé le livre.",
        "der König hat uns das Buch geschickt.",
        "国王把书寄给了我们。",
    )
    check(
        b.say(b.clause(b.pro(HE), "give", object=b.np("a", "toy"), recipient=b.np("the", "child", plural=True))),
        "he gives a toy to the children.",
        "il donne un jouet aux enfants.",
        "er gibt den Kindern ein Spielzeug.",
        "他给那些孩子一个玩具。",
    )
    check(
        b.say(b.clause(b.np("the", "nurse", plural=True), "see", mood="past", object=b.pro(THEY))),
        "the nurses saw them.",
        "les infirmières les ont vus.",
        "die Krankenschwestern haben sie gesehen.",
        "那些护士看见了他们。",
    )


def test_owners_and_coordination(b: Build) -> None:
    car = b.np("the", "car")
    car.of = b.np("my", "neighbour")
    pair = Coordination(b.np("the", "queen"), b.np("the", "sister"))
    check(
        b.say(b.clause(pair, "follow", mood="past", object=car)),
        "the queen and the sister followed the car of my neighbour.",
        "la reine et la sœur ont suivi la voiture de mon voisin.",
        "die Königin und die Schwester sind dem Auto meines Nachbarn gefolgt.",
        "女王和姐姐跟随了我的邻居的汽车。",
    )


def test_reported_speech_and_time_first(b: Build) -> None:
    inner = b.clause(b.np("every", "bird"), "swim", mood="will", time=adverb("tomorrow"))
    check(
        b.say(b.clause(b.np("the", "doctor"), "say that", that=inner)),
        "the doctor says that every bird will swim tomorrow.",
        "le médecin dit que chaque oiseau va nager demain.",
        "der Arzt sagt, dass jeder Vogel morgen schwimmen wird.",
        "医生说每只鸟明天都会游泳。",
    )
    late = b.clause(b.pro(WE), "wait for", mood="past", object=b.pro(HE), time=adverb("last week"), time_first=True)
    check(
        b.say(late),
        "last week we waited for him.",
        "la semaine dernière nous l'avons attendu.",
        "letzte Woche haben wir auf ihn gewartet.",
        "上周我们等了他。",
    )


def test_links_join_words_with_the_same_meaning(b: Build) -> None:
    tree = Sentence([Statement(b.clause(b.pro(I), "help", mood="want", object=b.np("the", "man")))])
    lines = {language: write().sentence(tree) for language, write in WRITERS.items()}
    # I want to help the man . — ich will dem Mann helfen .
    assert align(lines["en"], lines["de"]) == ((0, 0), (1, 1), (2, 1), (3, 4), (4, 2), (5, 3), (6, 5))
    # — 我 想 帮 助 男 人 。
    assert align(lines["en"], lines["zh"]) == (
        *((0, 0), (1, 1), (2, 1), (3, 2), (3, 3)),
        *((5, 4), (5, 5), (6, 6)),
    )
