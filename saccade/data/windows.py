"""What batches are cut from, a window at a time: an epoch is one window of a corpus in memory, or many of a stream.

A window is decided by (seed, epoch, its number) alone, so that a position is three numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


class Rows(Protocol):
    """Many texts as ids."""

    @property
    def lengths(self) -> Places: ...
    def __call__(self, place: int, /) -> Ids: ...


@dataclass(frozen=True, kw_only=True)
class Window:
    source: Rows
    target: Rows
    places: Places  # of the pairs to be batched; one may come again
    indices: Places | None = None  # what a batch calls the pair at each place; None: the place itself


class Windows(Protocol):
    @property
    def longest(self) -> tuple[int, int]:
        """Pieces of the longest source and of the longest target that may come."""

    @property
    def pieces(self) -> int:
        """Of an epoch, of the longer side of each pair: about."""

    @property
    def windows(self) -> int:
        """How many an epoch has."""

    def window(self, seed: int, epoch: int, number: int) -> Window: ...


def passed(pairs: int, weight: float, done: int, windows: int) -> int:
    """How many pairs of a corpus have come after `done` windows, over all epochs of `windows` each, in which it is
    passed over `weight` times. What is more than all goes on from the first again."""
    return int(pairs * Fraction(str(weight)) * done / windows)


@dataclass(frozen=True)
class Joined:
    """The texts of several corpora, one after another."""

    sides: Sequence[Rows]
    starts: Places

    @property
    def lengths(self) -> Places:
        return np.concatenate([side.lengths for side in self.sides])

    def __call__(self, place: int) -> Ids:
        which = int(np.searchsorted(self.starts, place, "right")) - 1
        return self.sides[which](place - int(self.starts[which]))
