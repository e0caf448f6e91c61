"""The lexicon: the word tables in `words/`, with every inflected form derived once.

Content words are in tab-separated tables with a header. A field contains forms separated by spaces; `_` stands for a
space inside a form. Nouns: English `singular plural`, French `gender singular plural`, German `article singular
genitive plural`, Chinese `noun measure-word`. Verbs: forms, then ` : ` and a preposition (German: a preposition and its
case, or a case); a leading `+` takes *être* or *sein*; `an-rufen` is separable; in Chinese `*` is where 了 goes, a
second form is the negative where 不 alone would be wrong, and `跟~` or `~里` goes around the object.

Function words are in one TOML file per language. Entries of the lexicon compare by identity: the two senses of a word
are two entries.
"""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from saccade.tasks.drawing import LANGUAGES

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
FEMININE = 1  # among the genders of French
Row = dict[str, str]


def _read(name: str) -> str:
    return (files(__package__) / "words" / name).read_text(encoding="utf-8")


@cache
def function_words(language: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Pronouns, determiners, auxiliaries and the like: table → key → forms."""
    tables = tomllib.loads(_read(f"{language}.toml"))
    return {
        name: {key: tuple("" if form == "-" else form for form in _forms(text)) for key, text in table.items()}
        for name, table in tables.items()
    }


def _rows(table: str) -> Iterator[Row]:
    header, *lines = _read(f"{table}.tsv").splitlines()
    for line in lines:
        yield dict(zip(header.split("\t"), line.split("\t"), strict=True))


@cache
def everyday_rows() -> tuple[Row, ...]:
    """The everyday sentences, language → words with their meanings; see `everyday`."""
    return tuple(_rows("everyday"))


def _forms(field: str) -> list[str]:
    return [form.replace("_", " ") for form in field.split()]


class Noun:
    plural = False  # where it has no determiner

    def __init__(self, row: Row, kinds: frozenset[str]) -> None:
        english, (gender, *french), (article, *german) = (_forms(row[language]) for language in ("en", "fr", "de"))
        singular, genitive, plural = (*german, "")[:3]
        weak = article == "der" and genitive == plural and plural.endswith("n")  # der Junge, den Jungen
        oblique = genitive if weak else singular
        dative_plural = plural if plural[-1:] in ("n", "s", "") else plural + "n"
        self.name = english[0]  # shared by the two senses of an ambiguous word
        self.kinds = kinds
        self.mass = len(english) == 1
        self.english = (english[0], english[-1])
        self.french_gender = "mf".index(gender)
        self.french = (french[0], french[-1])
        self.german_gender = ("der", "die", "das").index(article)
        self.german: tuple[tuple[str, ...], tuple[str, ...]] = (  # [plural][case]
            (singular, oblique, oblique, genitive),
            (plural, plural, dative_plural, plural),
        )
        self.chinese, self.measure = (*row["zh"].split(), "")[:2]


class Topic(Noun):
    """A noun that is used in general, without a determiner: *rivers*, *money*."""

    def __init__(self, row: Row) -> None:
        article, french = row["fr"].split(maxsplit=1)
        nominative, dative = _forms(row["de"])
        super().__init__({**row, "fr": french, "de": f"das {nominative} {nominative}"}, frozenset({"topic"}))
        self.plural = article == "les"
        cases = (nominative, nominative, dative, nominative)
        self.german = (cases, cases)


class Adjective:
    def __init__(self, row: Row) -> None:
        french, german, flags = _forms(row["fr"]), _forms(row["de"]), row["flags"].split()
        if len(french) == 1:
            masculine = french[0]
            feminine = masculine if masculine.endswith("e") else masculine + "e"
            french = [masculine, feminine, masculine + "s", feminine + "s"]
        self.name = row["en"]
        self.kinds = frozenset(row["kinds"].split())
        self.before = "before" in flags  # in French, it stands before the noun
        self.classifying = "classifying" in flags  # Chinese predicate with 是 … 的; takes no "very"
        self.predicate = "attributive" not in flags
        self.cue = "cue" in flags  # serves only to decide the sense of an ambiguous word
        self.french = french[:4]  # m sg, f sg, m pl, f pl
        self.french_vowel = french[4] if len(french) > 4 else french[0]  # m sg before a vowel
        self.german, self.german_stem = german[0], german[-1]
        self.chinese = row["zh"]


class Verb:
    def __init__(self, row: Row) -> None:
        (english, _, preposition), (french, _, french_frame), (german, _, german_frame), (chinese, _, around) = (
            row[language].partition(" : ") for language in ("en", "fr", "de", "zh")
        )
        self.subjects, self.objects, self.flags = (
            frozenset(row[field].split()) for field in ("subjects", "objects", "flags")
        )
        base, third, past = english.split()
        self.name = f"{base} that" if "clausal" in self.flags else f"{base} {preposition}".strip()
        self.english = (base, third, past)
        self.english_preposition = preposition
        self.forms = {"fr": _conjugate_french(french), "de": _conjugate_german(german)}
        self.french_preposition = french_frame
        self.german_preposition, _, case = german_frame.rpartition(" ")
        self.german_case = DATIVE if case == "dat" else ACCUSATIVE
        self.chinese, self.chinese_negative = (*chinese.split(), "")[:2]  # with * where the aspect particle goes
        self.chinese_before, _, self.chinese_after = around.partition("~")

    @property
    def direct(self) -> bool:
        """Whether every language can put the object at the head of a relative clause without a preposition."""
        around = self.english_preposition + self.french_preposition + self.german_preposition
        return not (around + self.chinese_before + self.chinese_after)


class Conjugation(NamedTuple):
    present: Sequence[str]  # for I, you, he or she, we, they, without a separable prefix
    infinitive: str
    participle: str
    with_be: bool  # the past takes être or sein
    prefix: str = ""


def _conjugate_french(field: str) -> Conjugation:
    """A lone infinitive in -er is regular."""
    infinitive, *forms = field.removeprefix("+").split()
    if not forms:
        stem = infinitive.removesuffix("er")
        forms = [stem + ending for ending in ("é", "e", "es", "e", "eons" if stem.endswith("g") else "ons", "ent")]
    return Conjugation(forms[1:], infinitive, forms[0], field.startswith("+"))


def _conjugate_german(field: str) -> Conjugation:
    infinitive, participle, *irregular = field.removeprefix("+").split()
    prefix, _, bare = infinitive.rpartition("-")
    stem = bare.removesuffix("en")
    link = "e" if stem[-1] in "td" else ""
    du = stem + "t" if stem[-1] in "sßz" else stem + link + "st"
    second, third, first = (*irregular, *(du, stem + link + "t", stem + "e")[len(irregular) :])
    return Conjugation((first, second, third, bare, bare), prefix + bare, participle, field.startswith("+"), prefix)


class Adverb:
    def __init__(self, row: Row) -> None:
        self.forms = {language: _parts(row[language]) for language in LANGUAGES}
        self.name = " ".join(word for word, _ in self.forms["en"])
        self.kinds = frozenset(row["kinds"].split())


def _parts(field: str) -> tuple[tuple[str, int], ...]:
    """Words with the part of the phrase that each renders: `last/1 week/2`; by default part 1."""
    cut = [word.partition("/") for word in field.split()]
    return tuple((word, int(part or 1)) for word, _, part in cut)


class PhrasebookLexicon:
    def __init__(self) -> None:
        self.nouns = [Noun(row, frozenset(row["kinds"].split())) for row in _rows("nouns")]
        self.sense_of = {Noun(row, frozenset({"homograph"})): row["kinds"] for row in _rows("homographs")}  # its domain
        self.homographs: dict[str, list[Noun]] = {}  # name → its two senses
        for noun in self.sense_of:
            self.homographs.setdefault(noun.name, []).append(noun)
        self.topics: dict[str, list[Topic]] = {}  # domain → its cue nouns; "neutral" belongs to no sense
        for row in _rows("topics"):
            self.topics.setdefault(row["kinds"], []).append(Topic(row))
        adjectives = [Adjective(row) for row in _rows("adjectives")]
        self.adjectives = [adjective for adjective in adjectives if not adjective.cue]
        self.cue_adjectives = {next(iter(adjective.kinds)): adjective for adjective in adjectives if adjective.cue}
        self.verbs = [Verb(row) for row in _rows("verbs")]
        self.adverbs = [Adverb(row) for row in _rows("adverbs")]


lexicon = cache(PhrasebookLexicon)  # read once
