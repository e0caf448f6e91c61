"""Batches of pairs of like length, in an order that (seed, epoch) decides and a saved position continues."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Self, TypedDict

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from saccade.data.corpus import Corpus
from saccade.text import BOS, EOS, PAD

Rows = Sequence[npt.NDArray[np.int32] | Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The source ends with eos. Teacher forcing reads `target_in`, from bos, and asks for `target_out`, to eos."""

    source: Tensor  # (B,S) long
    source_readable: Tensor  # (B,S) bool
    target_in: Tensor  # (B,T) long
    target_out: Tensor  # (B,T) long
    target_readable: Tensor  # (B,T) bool, of both
    indices: Tensor  # (B,) long: where in the corpus

    @classmethod
    def of(cls, sources: Rows, targets: Rows, indices: Iterable[int]) -> Self:
        source, source_readable = pad_sources(sources)
        target_in, target_readable = _pad(targets, before=[BOS])
        target_out, _ = _pad(targets, after=[EOS])
        return cls(
            source=source,
            source_readable=source_readable,
            target_in=target_in,
            target_out=target_out,
            target_readable=target_readable,
            indices=torch.tensor(list(indices)),
        )

    def __len__(self) -> int:
        return len(self.indices)

    def halves(self) -> tuple[Self, Self]:
        """The same pairs in two batches, for when they do not fit in memory together."""
        middle = len(self) // 2
        parts = (
            {f.name: getattr(self, f.name)[some] for f in fields(self)} for some in (slice(middle), slice(middle, None))
        )
        first, second = (type(self)(**part) for part in parts)
        return first, second

    def to(self, device: torch.device | str) -> Self:
        return type(self)(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


def pad_sources(rows: Rows) -> tuple[Tensor, Tensor]:
    """What a model reads, in training and after: `source` (B,S), each ended with eos, and `readable` (B,S)."""
    return _pad(rows, after=[EOS])


def _pad(rows: Rows, *, before: Sequence[int] = (), after: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
    lengths = np.array([len(before) + len(row) + len(after) for row in rows])
    readable = np.arange(lengths.max()) < lengths[:, None]  # (B,L)
    ids = np.full(readable.shape, PAD, np.int64)
    parts = [part for row in rows for part in (before, row, after)]
    ids[readable] = np.concatenate(parts, dtype=np.int64, casting="unsafe")  # row by row, as the mask goes
    return torch.from_numpy(ids), torch.from_numpy(readable)


class Position(TypedDict):
    epoch: int
    index: int


class Batches:
    """Each pass gives the rest of an epoch, in which every pair comes once; then the next epoch begins.

    A batch of B pairs whose longest text has L ids, bos or eos counted, on whichever side it is, has B · L ≤ `tokens`;
    a pair longer than that is a batch by itself.
    """

    def __init__(self, corpus: Corpus, *, tokens: int = 4096, seed: int = 1) -> None:
        self.corpus = corpus
        self.tokens = tokens
        self.seed = seed
        self.epoch = 1
        self.index = 0
        self._lengths = np.sort(np.stack([corpus.source.lengths + 1, corpus.target.lengths + 1]), axis=0)
        self._cuts = cut_places(np.sort(self._lengths[1]), tokens)

    def __len__(self) -> int:
        """Batches in an epoch: as many in each."""
        return len(self._cuts) - 1

    def __iter__(self) -> Iterator[Batch]:
        members = self._members(self.epoch)
        while self.index < len(members):
            chosen = members[self.index]
            self.index += 1  # a batch that is handed out is behind us
            source, target = self.corpus.source, self.corpus.target
            yield Batch.of([source(i) for i in chosen], [target(i) for i in chosen], chosen)
        self.epoch, self.index = self.epoch + 1, 0

    def state(self) -> Position:
        return {"epoch": self.epoch, "index": self.index}

    def restore(self, state: Position) -> None:
        """Goes on exactly where `state` was taken, given the same corpus, tokens and seed."""
        self.epoch, self.index = state["epoch"], state["index"]

    def _members(self, epoch: int) -> list[list[int]]:
        """Like goes with like by the longer side, then the shorter; chance decides among equals, and the order."""
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(len(self.corpus))
        order = order[np.lexsort(self._lengths[:, order])]
        batches = np.split(order, self._cuts[1:-1])
        return [batches[place].tolist() for place in random.permutation(len(batches))]


def cut_places(lengths: npt.NDArray[np.int64], tokens: int) -> list[int]:
    """Where batches begin in texts of rising length, and the end: each as large as fits."""
    cuts = [0]
    while (start := cuts[-1]) < len(lengths):
        ahead = lengths[start : start + max(1, tokens // int(lengths[start]))]
        sizes = np.arange(1, len(ahead) + 1) * ahead  # padded, if the batch ended here
        cuts.append(start + max(1, int(np.searchsorted(sizes, tokens, side="right"))))
    return cuts
