"""Texts instead of pairs: what language models learn from.

Until batches are cut, a text is a pair of two equal sides, so that reading, cleaning, holding out, vocabularies, caches
and streams serve texts as they serve pairs. A form then makes of each window what the model learns: `TextForm`, targets
without sources; `saccade.data.corruption.Corruption`, sources that are corrupted targets. By default, each line is a
text. In blocks, the lines follow one another, and a line ends with `LINE_END`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from saccade.data.corpus import PairWindow, Side
from saccade.data.formats import PairFiles
from saccade.data.sources import DerivedPairs, ListedPairs, Mark, MarkedPairs, PairSide, TextPair
from saccade.data.text_files import File, marked_lines

LINE_END = "␤"  # a line end inside a text; texts are lines
_BLOCKS_PER_PASSAGE = 16  # characters per token of a block: what is held out is a few blocks long


@dataclass(frozen=True)
class TextFiles(PairFiles):
    """A file with one text per line or, in blocks, passages of at least `passage` characters."""

    passage: int = 0
    unit: ClassVar[str] = "text"
    _contents: ClassVar[str] = "one text per line"

    @classmethod
    def of(cls, file: File, block: int | None) -> "TextFiles":
        return cls(file, passage=0 if block is None else _BLOCKS_PER_PASSAGE * block)

    def _read(self, files: Sequence[File], mark: Mark | None) -> MarkedPairs:
        for place, text in self._passages(files[0], mark or (1, 0)):
            yield place, TextPair(text, text)

    def _passages(self, file: File, mark: Mark) -> Iterator[tuple[Mark, str]]:
        lines, size, first = list[str](), 0, mark
        for place, line in marked_lines(file, mark):
            if not self.passage:
                yield place, line
                continue
            first = first if lines else place
            lines.append(line + LINE_END)
            size += len(lines[-1])
            if size >= self.passage:
                yield first, "".join(lines)
                lines, size = [], 0
        if lines:
            yield first, "".join(lines)

    def buffered_in(self, folder: Path) -> "TextFiles":
        return replace(self, source=super().buffered_in(folder).source)


class ListedTexts(ListedPairs):
    unit = "text"


@dataclass(frozen=True)
class SideTexts(DerivedPairs):
    """The texts on one side of pairs."""

    side: PairSide
    unit: ClassVar[str] = "text"

    @property
    def change(self) -> str:
        return f"{self.side}s"

    def derive(self, pair: TextPair) -> TextPair:
        text: str = getattr(pair, self.side)
        return TextPair(text, text)


class WindowForm(Protocol):
    """What is learnt from a window of texts. It depends on the seed and the window's place alone."""

    @property
    def block(self) -> int | None:
        """The tokens of a text that continues across lines; None: each line is a text."""

    def __call__(self, window: PairWindow, seed: int, epoch: int, number: int, /) -> PairWindow: ...
    def longest_sides(self, sides: tuple[int, int], /) -> tuple[int, int]:
        """The most tokens of a source and of a target, of texts whose sides have so many."""


@dataclass(frozen=True)
class TextForm:
    """What is learnt from a window of texts: each of them or, with `block`, so many tokens at a time. The blocks of
    another epoch are cut at other places."""

    block: int | None = None

    def __call__(self, window: PairWindow, seed: int, epoch: int, number: int) -> PairWindow:
        if self.block is not None:
            window = self._cut(window, np.random.default_rng((seed, epoch, number)))
        return replace(window, source=_blank(len(window.target.lengths)))

    def longest_sides(self, sides: tuple[int, int]) -> tuple[int, int]:
        return 0, sides[1] if self.block is None else self.block - 1

    def _cut(self, window: PairWindow, random: np.random.Generator) -> PairWindow:
        """A block does not end with eos, but with the token that follows in the text."""
        assert self.block is not None
        ids, _ = window.target.join(window.places)
        ends = np.unique([*range(int(random.integers(self.block)), len(ids), self.block), len(ids) - 1])
        lengths = np.diff(ends, prepend=-1) - 1
        target = Side(np.delete(ids, ends), np.concatenate([[0], np.cumsum(lengths)]))
        return PairWindow(source=target, target=target, places=np.arange(len(ends)), ends=ids[ends].astype(np.int64))


def _blank(texts: int) -> Side:
    return Side(np.empty(0, np.int32), np.zeros(texts + 1, np.int64))
