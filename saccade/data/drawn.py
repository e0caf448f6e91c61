"""Pairs that a task draws, in a file, which is then passed over like any other."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from saccade.data.arrays import check, describe
from saccade.data.formats import PairFiles
from saccade.data.opening import Listed, Pairs, Reversed
from saccade.text import HasTexts

_NAME, _ENDING = "pairs", ".tsv"


@dataclass(frozen=True, kw_only=True)
class Drawn:
    draw: Callable[[], Iterable[HasTexts]]  # gives the same pairs at every call
    file: Path | None = None  # where they are already

    def save(self, folder: Path) -> None:
        with (folder / f"{_NAME}{_ENDING}").open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{pair.source}\t{pair.target}\n" for pair in self.draw())
        describe(folder, [_NAME], _ENDING, None)

    def load(self, folder: Path) -> "Drawn":
        """The same, as saved; raises DamagedError if a byte of it is missing or has changed."""
        check(folder, _ENDING)
        return Drawn(draw=self.draw, file=folder / f"{_NAME}{_ENDING}")

    def open(self, *, reverse: bool) -> Pairs:
        found: Pairs = Listed([*self.draw()]) if self.file is None else PairFiles(self.file)
        return Reversed(found) if reverse else found
