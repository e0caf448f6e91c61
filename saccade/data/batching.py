"""Batches of pairs of similar length. The seed decides their order, and a saved position continues it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from saccade.data.corpus import PairWindow, WindowSource
from saccade.text import BOS, EOS, PAD

Rows = Sequence[npt.NDArray[np.int32] | Sequence[int]]


@dataclass(frozen=True)
class Batch:
    """The source ends with eos. Teacher forcing reads `target_in`, from bos, and predicts `target_out`, to eos."""

    source: Tensor  # (B,S) long
    source_readable: Tensor  # (B,S) bool
    target_in: Tensor  # (B,T) long
    target_out: Tensor  # (B,T) long
    target_readable: Tensor  # (B,T) bool, for both targets
    indices: Tensor  # (B,) long: places in the corpus

    @classmethod
    def of(cls, sources: Rows, targets: Rows, indices: Iterable[int]) -> Self:
        target_in, target_readable = _pad(targets, before=[BOS])
        target_out, _ = _pad(targets, after=[EOS])
        return cls(*pad_sources(sources), target_in, target_out, target_readable, torch.tensor(list(indices)))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def tokens(self) -> int:
        """Target tokens: what a loss is averaged over."""
        return int(self.target_readable.sum())

    @property
    def size(self) -> int:
        """Pairs × the longest side, padding included."""
        return len(self) * max(self.source.shape[1], self.target_in.shape[1])

    def rows(self, rows: slice) -> Self:
        return type(self)(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})

    def halves(self) -> tuple[Self, Self]:
        """Split into two batches, for when the whole does not fit in memory."""
        middle = len(self) // 2
        return self.rows(slice(middle)), self.rows(slice(middle, None))

    def to(self, device: torch.device | str) -> Self:
        return type(self)(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


def pad_sources(rows: Rows) -> tuple[Tensor, Tensor]:
    """Return what a model reads, in training and translation: `source` (B,S), each with eos, and `readable` (B,S)."""
    return _pad(rows, after=[EOS])


def _pad(rows: Rows, *, before: Sequence[int] = (), after: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
    lengths = np.array([len(before) + len(row) + len(after) for row in rows])
    readable = np.arange(lengths.max()) < lengths[:, None]  # (B,L)
    ids = np.full(readable.shape, PAD, np.int64)
    parts = [part for row in rows for part in (before, row, after)]
    ids[readable] = np.concatenate(parts, dtype=np.int64, casting="unsafe")  # in the order of the mask: row by row
    return torch.from_numpy(ids), torch.from_numpy(readable)


class Batches:
    """Each iteration yields the rest of an epoch, which has every pair once (or as often as the weight of its corpus
    says); then the next epoch begins.

    A batch of B pairs whose longest text, on either side and with bos or eos, has L tokens fulfils B · L ≤ `tokens`; a
    longer pair is a batch by itself. A batch depends on the seed and its position alone.
    """

    def __init__(self, pairs: WindowSource, *, tokens: int = 4096, seed: int = 1) -> None:
        self.pairs, self.draw = pairs, pairs.window
        self.tokens, self.seed = tokens, seed
        self.epoch, self.window, self.index = 1, 0, 0
        self._cut: tuple[tuple[int, int], PairWindow, list[list[int]]] | None = None

    def __len__(self) -> int:
        """Count the batches of this window; with a corpus in memory, those of this epoch."""
        return len(self._window()[1])

    def __iter__(self) -> Iterator[Batch]:
        while self.window < self.pairs.windows:
            window, members = self._window()
            while self.index < len(members):
                chosen = members[self.index]
                self.index += 1  # before yielding: the position is after this batch
                indices = chosen if window.indices is None else window.indices[chosen].tolist()
                yield Batch.of([window.source(i) for i in chosen], [window.target(i) for i in chosen], indices)
            self.window, self.index = self.window + 1, 0
        self.epoch, self.window = self.epoch + 1, 0

    @property
    def epochs(self) -> float:
        """The number of epochs done, with the finished part of this one."""
        inside = self.index / len(self) if self.index else 0.0
        return self.epoch - 1 + (self.window + inside) / self.pairs.windows

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "window": self.window, "index": self.index}

    def restore(self, state: Mapping[str, int]) -> None:
        """Continue exactly where `state` was taken, with the same pairs, tokens and seed."""
        self.epoch, self.window, self.index = state["epoch"], state["window"], state["index"]

    def next_window(self) -> tuple[int, int]:
        """Return the epoch and number of the window to be drawn next."""
        if self._cut is None or self._cut[0] != (self.epoch, self.window):
            return self.epoch, self.window
        return (self.epoch, self.window + 1) if self.window + 1 < self.pairs.windows else (self.epoch + 1, 0)

    def _window(self) -> tuple[PairWindow, list[list[int]]]:
        now = self.epoch, self.window
        if self._cut is None or self._cut[0] != now:
            self._cut = None  # two windows need not be in memory at once
            window = self.draw(self.seed, *now)
            self._cut = now, window, self._members(window)
        return self._cut[1:]

    def _members(self, window: PairWindow) -> list[list[int]]:
        """Group pairs by the length of the longer side, then of the shorter. Ties and their order are random."""
        if len(window.places) == 0:
            return []
        random = np.random.default_rng((self.seed, self.epoch, self.window))
        order = random.permutation(window.places)
        lengths = np.sort(np.stack([window.source.lengths[order] + 1, window.target.lengths[order] + 1]), axis=0)
        sorted_ = np.lexsort(lengths)
        batches = np.split(order[sorted_], find_batch_starts(lengths[1][sorted_], self.tokens)[1:-1])
        return [batches[place].tolist() for place in random.permutation(len(batches))]


def find_batch_starts(lengths: npt.NDArray[np.int64], tokens: int) -> list[int]:
    """Cut texts of rising length into batches as large as fit; return where each begins, and the end."""
    cuts = [0]
    while (start := cuts[-1]) < len(lengths):
        ahead = lengths[start : start + max(1, tokens // int(lengths[start]))]
        sizes = np.arange(1, len(ahead) + 1) * ahead  # padded, if the batch ended here
        cuts.append(start + max(1, int(np.searchsorted(sizes, tokens, side="right"))))
    return cuts


def batch_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Places of texts of similar length, longest first, so that a batch that does not fit into memory fails at once."""
    order = np.argsort(np.array(lengths, np.int64), kind="stable")
    cuts = find_batch_starts(np.array(lengths, np.int64)[order], max(1, tokens))
    return [batch.tolist() for batch in np.split(order, cuts[1:-1])][::-1] if lengths else []
