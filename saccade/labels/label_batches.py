"""Batches of labelled texts: those of pairs, whose targets are the label ids."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from saccade.data.batching import Batch, Batches
from saccade.data.corpus import Corpus
from saccade.labels.label_ids import FIRST_LABEL
from saccade.text import EOS
from saccade.train.request import LabelKind

IGNORED = -1


@dataclass(frozen=True)
class LabelBatch:
    ids: Tensor  # (B, S)
    readable: Tensor  # (B, S)
    labels: Tensor  # (B,) or, of each token, (B, S); IGNORED where there is none
    counts: Tensor  # (B,) labels of each text; on the CPU, so that counting them does not wait for a device

    @classmethod
    def of(cls, batch: Batch, kind: LabelKind) -> Self:
        """The end of a text is not read, and the end of its labels is none."""
        ids, readable = batch.source, batch.source_readable & (batch.source != EOS)
        wanted = batch.target_out
        labels = torch.where(wanted >= FIRST_LABEL, wanted - FIRST_LABEL, IGNORED)
        counts = (labels != IGNORED).sum(1)
        if kind == "classify":
            return cls(ids, readable, labels[:, 0], counts)
        return cls(ids, readable, labels[:, : ids.shape[1]], counts)

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, rows: slice) -> Self:
        return type(self)(self.ids[rows], self.readable[rows], self.labels[rows], self.counts[rows])

    def to(self, device: torch.device) -> Self:
        return type(self)(self.ids.to(device), self.readable.to(device), self.labels.to(device), self.counts)

    @property
    def tokens(self) -> int:
        """The labels: what a loss is averaged over."""
        return int(self.counts.sum())

    @property
    def size(self) -> int:
        return self.ids.numel()


class LabelBatches:
    def __init__(self, corpus: Corpus, kind: LabelKind, *, tokens: int, seed: int) -> None:
        self._batches, self._kind = Batches(corpus, tokens=tokens, seed=seed), kind

    def __iter__(self) -> Iterator[LabelBatch]:
        return (LabelBatch.of(batch, self._kind) for batch in self._batches)

    @property
    def epoch(self) -> int:
        return self._batches.epoch

    @property
    def epochs(self) -> float:
        return self._batches.epochs

    def state(self) -> Mapping[str, Any]:
        return self._batches.state()

    def restore(self, state: Mapping[str, int]) -> None:
        self._batches.restore(state)

    def __str__(self) -> str:
        return str(self._batches.measure())
