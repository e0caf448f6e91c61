"""The lexicon: what the tables in `words/` say, with every inflected form worked out once.

The tables are tab-separated, a header first. A field holds forms separated by spaces; `_` stands for a space inside one
form. Nouns: English `singular plural`, French `gender singular plural`, German `article singular genitive plural`,
Chinese `noun measure-word`. Verbs: forms, then ` : ` and a preposition (German: a preposition and its case, or a case);
a leading `+` takes *être* or *sein*; `an-rufen` is separable; in Chinese `*` is where 了 goes, a second form is the
negative where 不 alone would be wrong, and `跟~` or `~里` is what goes around the object.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
CASES = {"acc": ACCUSATIVE, "dat": DATIVE}
MASCULINE, FEMININE, NEUTER = range(3)


# Entries compare by identity: two senses of one word are two entries, and dictionaries keyed by entries stay quick.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noun:
    name: str  # the English singular; shared by the two senses of an ambiguous word
    kinds: frozenset[str]
    mass: bool
    english: tuple[str, str]
    french_gender: int
    french: tuple[str, str]
    german_gender: int
    german: tuple[tuple[str, str, str, str], tuple[str, str, str, str]]  # [plural][case]
    chinese: str
    measure: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjective:
    name: str
    kinds: frozenset[str]
    before: bool  # stands before the noun in French
    classifying: bool  # Chinese predicate with 是 … 的; takes no "very"
    predicate: bool
    cue: bool  # only ever decides the sense of an ambiguous word
    french: tuple[str, str, str, str]  # m sg, f sg, m pl, f pl
    french_vowel: str  # m sg before a vowel
    german: str
    german_stem: str
    chinese: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Verb:
    name: str
    subjects: frozenset[str]
    objects: frozenset[str]
    flags: frozenset[str]
    english: tuple[str, str, str]  # base, third person, past
    english_preposition: str
    french: tuple[str, str, str, str, str]  # je tu il nous ils
    french_infinitive: str
    french_participle: str
    french_etre: bool
    french_preposition: str
    german: tuple[str, str, str, str, str]  # ich du er wir sie, without a separable prefix
    german_infinitive: str
    german_participle: str
    german_sein: bool
    german_prefix: str
    german_preposition: str
    german_case: int
    chinese: str  # with * where the aspect particle goes
    chinese_negative: str
    chinese_before: str
    chinese_after: str

    @property
    def direct(self) -> bool:
        """Whether every language can put the object at the head of a relative clause without a preposition."""
        around = self.english_preposition + self.french_preposition + self.german_preposition
        return not (around + self.chinese_before + self.chinese_after)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adverb:
    name: str
    kinds: frozenset[str]
    forms: dict[str, tuple[tuple[str, int], ...]]  # by language: (word, the part of the phrase that it renders)


@dataclass(frozen=True, kw_only=True)
class PhrasebookLexicon:
    nouns: tuple[Noun, ...]
    homographs: dict[str, tuple[Noun, Noun]]
    sense_of: dict[Noun, str]  # the domain of a homograph's sense
    topics: dict[str, tuple[Noun, ...]]  # domain -> its cue nouns; "neutral" belongs to no sense
    plural_topics: frozenset[Noun]
    adjectives: tuple[Adjective, ...]
    cue_adjectives: dict[str, Adjective]
    verbs: tuple[Verb, ...]
    adverbs: tuple[Adverb, ...]


def _read(name: str) -> str:
    return (files(__package__) / "words" / name).read_text(encoding="utf-8")


@cache
def function_words(language: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Pronouns, determiners, auxiliaries and the like: table → key → forms."""
    tables = tomllib.loads(_read(f"{language}.toml"))
    return {name: {key: _split(text) for key, text in table.items()} for name, table in tables.items()}


def _split(text: str) -> tuple[str, ...]:
    return tuple("" if form == "-" else form for form in _forms(text))


def _rows(table: str) -> Iterator[dict[str, str]]:
    text = _read(f"{table}.tsv")
    header, *lines = text.splitlines()
    for line in lines:
        yield dict(zip(header.split("\t"), line.split("\t"), strict=True))


def _forms(field: str) -> list[str]:
    return [form.replace("_", " ") for form in field.split()]


def _noun(row: dict[str, str], kinds: frozenset[str]) -> Noun:
    english, (gender, *french), (article, *german) = (_forms(row[language]) for language in ("en", "fr", "de"))
    chinese, measure = row["zh"].split()
    mass = len(english) == 1
    singular, genitive, plural = (*german, "")[:3]
    weak = article == "der" and genitive == plural and plural.endswith("n")  # der Junge, den Jungen
    oblique = genitive if weak else singular
    dative_plural = plural if plural[-1:] in ("n", "s", "") else plural + "n"
    return Noun(
        name=english[0],
        kinds=kinds,
        mass=mass,
        english=(english[0], english[-1]),
        french_gender="mf".index(gender),
        french=(french[0], french[-1]),
        german_gender=("der", "die", "das").index(article),
        german=((singular, oblique, oblique, genitive), (plural, plural, dative_plural, plural)),
        chinese=chinese,
        measure=measure,
    )


def _topic(row: dict[str, str]) -> Noun:
    _, gender, french = _forms(row["fr"])
    german, dative = _forms(row["de"])
    forms = (german, german, dative, german)
    return Noun(
        name=row["en"],
        kinds=frozenset({"topic"}),
        mass=True,
        english=(row["en"], row["en"]),
        french_gender="mf".index(gender),
        french=(french, french),
        german_gender=NEUTER,
        german=(forms, forms),
        chinese=row["zh"],
        measure="",
    )


def _adjective(row: dict[str, str]) -> Adjective:
    french = _forms(row["fr"])
    if len(french) == 1:
        masculine = french[0]
        feminine = masculine if masculine.endswith("e") else masculine + "e"
        french = [masculine, feminine, masculine + "s", feminine + "s"]
    german = _forms(row["de"])
    flags = row["flags"].split()
    return Adjective(
        name=row["en"],
        kinds=frozenset(row["kinds"].split()),
        before="before" in flags,
        classifying="classifying" in flags,
        predicate="attributive" not in flags,
        cue="cue" in flags,
        french=(french[0], french[1], french[2], french[3]),
        french_vowel=french[4] if len(french) > 4 else french[0],
        german=german[0],
        german_stem=german[-1],
        chinese=row["zh"],
    )


def _french_verb(forms: list[str]) -> tuple[str, ...]:
    """Infinitive, participle, je, tu, il, nous, ils; a lone infinitive in -er is regular."""
    if len(forms) > 1:
        return tuple(forms)
    stem = forms[0].removesuffix("er")
    nous = stem + "eons" if stem.endswith("g") else stem + "ons"
    return forms[0], stem + "é", stem + "e", stem + "es", stem + "e", nous, stem + "ent"


def _german_present(infinitive: str, irregular: list[str]) -> tuple[str, str, str, str, str]:
    stem = infinitive.removesuffix("en")
    link = "e" if stem[-1] in "td" else ""
    du = stem + "t" if stem[-1] in "sßz" else stem + link + "st"
    second, third, first = (*irregular, *(du, stem + link + "t", stem + "e")[len(irregular) :])
    return first, second, third, infinitive, infinitive


def _verb(row: dict[str, str]) -> Verb:
    flags = frozenset(row["flags"].split())
    (english, _, preposition), (french, _, french_frame), (german, _, german_frame), (chinese, _, around) = (
        row[language].partition(" : ") for language in ("en", "fr", "de", "zh")
    )
    base, third, past = english.split()
    infinitive, participle, je, tu, il, nous, ils = _french_verb(french.removeprefix("+").split())
    german_infinitive, german_participle, *irregular = german.removeprefix("+").split()
    prefix, _, bare = german_infinitive.rpartition("-")
    german_preposition, _, case = german_frame.rpartition(" ")
    aspect, negative = (*chinese.split(), "")[:2]
    before, _, after = around.partition("~")
    return Verb(
        name=f"{base} that" if "clausal" in flags else f"{base} {preposition}".strip(),
        subjects=frozenset(row["subjects"].split()),
        objects=frozenset(row["objects"].split()),
        flags=flags,
        english=(base, third, past),
        english_preposition=preposition,
        french=(je, tu, il, nous, ils),
        french_infinitive=infinitive,
        french_participle=participle,
        french_etre=french.startswith("+"),
        french_preposition=french_frame,
        german=_german_present(bare, irregular),
        german_infinitive=prefix + bare,
        german_participle=german_participle,
        german_sein=german.startswith("+"),
        german_prefix=prefix,
        german_preposition=german_preposition,
        german_case=CASES[case or "acc"],
        chinese=aspect,
        chinese_negative=negative,
        chinese_before=before,
        chinese_after=after,
    )


def _parts(field: str) -> tuple[tuple[str, int], ...]:
    """`last/1 week/2` -> (("last", 1), ("week", 2)); an unmarked phrase is one part."""
    cut = [word.partition("/") for word in field.split()]
    return tuple((word, int(part or 1)) for word, _, part in cut)


def _adverb(row: dict[str, str]) -> Adverb:
    return Adverb(
        name=" ".join(word for word, _ in _parts(row["en"])),
        kinds=frozenset(row["kinds"].split()),
        forms={
            "english": _parts(row["en"]),
            "french": _parts(row["fr"]),
            "german": _parts(row["de"]),
            "chinese": _parts(row["zh"]),
        },
    )


@cache
def lexicon() -> PhrasebookLexicon:
    """The whole lexicon, read once."""
    homographs: dict[str, list[Noun]] = {}
    sense_of: dict[Noun, str] = {}
    for row in _rows("homographs"):
        noun = _noun(row, frozenset({"homograph"}))
        homographs.setdefault(noun.name, []).append(noun)
        sense_of[noun] = row["kinds"]
    topics: dict[str, list[Noun]] = {}
    plural = set()
    for row in _rows("topics"):
        noun = _topic(row)
        topics.setdefault(row["kinds"], []).append(noun)
        if row["fr"].startswith("les "):
            plural.add(noun)
    adjectives = [_adjective(row) for row in _rows("adjectives")]
    return PhrasebookLexicon(
        nouns=tuple(_noun(row, frozenset(row["kinds"].split())) for row in _rows("nouns")),
        homographs={name: (senses[0], senses[1]) for name, senses in homographs.items()},
        sense_of=sense_of,
        topics={domain: tuple(nouns) for domain, nouns in topics.items()},
        plural_topics=frozenset(plural),
        adjectives=tuple(adjective for adjective in adjectives if not adjective.cue),
        cue_adjectives={next(iter(adjective.kinds)): adjective for adjective in adjectives if adjective.cue},
        verbs=tuple(_verb(row) for row in _rows("verbs")),
        adverbs=tuple(_adverb(row) for row in _rows("adverbs")),
    )
