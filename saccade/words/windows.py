"""Batches of windows: blocks of a text, with the neighbours of their words and random words.

A block has `BLOCK` consecutive words and the margins that their windows reach into. All of its words share their random
words, so that their scores are one matrix product. All random choices follow from the seed and the
position, so that a resumed run makes the same ones. The numbers of equations are those of mikolov2013.py.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.counting import Ids
from saccade.train.learner import TensorBatch
from saccade.words.corpus import NumberedCorpus, NumberedText
from saccade.words.options import Method

BLOCK = 64
NEGATIVES: dict[Method, int] = {"skip-gram": 64, "cbow": 16}  # by a block; cbow compares fewer words
_NOTHING = -1  # the number of no sentence
_POWER = 0.75  # random words are drawn by frequency^0.75
_FEWEST_UPDATES = 400  # per epoch; batches of a small text are smaller
_LARGEST: dict[Method, int] = {"skip-gram": 8_192, "cbow": 16_384}  # words per batch; cbow computes less for a word


class WindowBatch(TensorBatch):
    """Blocks of words with their margins (B, M + L + M), the sentence of each, the reach of each word's window (B, L),
    and random words (B, K)."""

    @property
    def words(self) -> Tensor:
        return self.tensors[0]

    @property
    def sentences(self) -> Tensor:
        return self.tensors[1]

    @property
    def reach(self) -> Tensor:
        return self.tensors[2]

    @property
    def negatives(self) -> Tensor:
        return self.tensors[3]

    @property
    def margin(self) -> int:
        return (self.words.shape[1] - self.reach.shape[1]) // 2

    @property
    def tokens(self) -> int:
        return int((self.sentences[:, self.margin : self.margin + BLOCK] != _NOTHING).sum())

    @property
    def size(self) -> int:
        return self.reach.numel()

    def neighbours(self) -> Tensor:
        """Which places each word of a block predicts, or is predicted by (B, L, M + L + M): those of its sentence that
        its window reaches, except its own."""
        block = self.reach.shape[1]
        places = torch.arange(self.words.shape[1], device=self.words.device)
        distance = (places[None, :] - places[self.margin : self.margin + block, None]).abs()
        own = self.sentences[:, self.margin : self.margin + block, None]
        together = (own == self.sentences[:, None, :]) & (own != _NOTHING)
        return together & (distance <= self.reach[:, :, None]) & (distance > 0)


class WindowBatches:
    """Batches of about `words` words. Each epoch skips other frequent words and draws other windows."""

    def __init__(
        self,
        corpus: NumberedCorpus,
        sentences: NumberedText,
        *,
        words: int,
        window: int,
        subsample: float,
        seed: int,
        negatives: int = NEGATIVES["skip-gram"],
    ) -> None:
        self.sentences, self.window, self.seed, self.negatives = sentences, window, seed, negatives
        self.rows = max(1, words // BLOCK)
        self.kept = _kept_share(corpus.counts, subsample)
        weights = corpus.counts.astype(np.float64) ** _POWER  # equation 4
        self.drawn = np.cumsum(weights / weights.sum())
        self.epoch, self.index = 1, 0
        self.in_epoch = max(1, math.ceil(float(self.kept[sentences.ids].sum()) / BLOCK / self.rows))  # about

    def __iter__(self) -> Iterator[WindowBatch]:
        words, numbers, order = self._blocks()
        while (start := self.index * self.rows) < len(order):
            random = np.random.default_rng((self.seed, self.epoch, self.index))
            self.index += 1  # the position after a batch that was handed out
            rows = order[start : start + self.rows]
            reach = random.integers(1, self.window + 1, (len(rows), BLOCK))  # equation 1
            negatives = np.searchsorted(self.drawn, random.random((len(rows), self.negatives)))
            negatives = np.minimum(negatives, len(self.drawn) - 1)  # the sum may be a little less than 1
            arrays = (words[rows].astype(np.int64), numbers[rows], reach, negatives)
            yield WindowBatch(tuple(map(torch.from_numpy, arrays)))
        self.epoch, self.index = self.epoch + 1, 0

    def _blocks(self) -> tuple[Ids, Ids, NDArray[np.int64]]:
        """The words that this epoch reads, in blocks with margins; their sentences; and the order of the blocks."""
        random, sentences = np.random.default_rng((self.seed, self.epoch)), self.sentences
        kept = random.random(len(sentences)) < self.kept[sentences.ids]
        blocks = max(1, math.ceil(int(kept.sum()) / BLOCK))
        padded = []
        for values, blank in ((sentences.ids[kept], 0), (sentences.numbers[kept], _NOTHING)):
            row = np.full(blocks * BLOCK + 2 * self.window, blank, np.int32)
            row[self.window : self.window + len(values)] = values
            padded.append(np.lib.stride_tricks.sliding_window_view(row, BLOCK + 2 * self.window)[::BLOCK])
        return padded[0], padded[1], random.permutation(blocks)

    @property
    def epochs(self) -> float:
        return self.epoch - 1 + min(1.0, self.index / self.in_epoch)

    def state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "index": self.index}

    def restore(self, state: Mapping[str, int]) -> None:
        self.epoch, self.index = state["epoch"], state["index"]


def _kept_share(counts: NDArray[np.int64], threshold: float) -> NDArray[np.float64]:
    """The probability that an occurrence of each word is read: equation 5"""
    if not threshold:
        return np.ones(len(counts))
    ratio = threshold / (counts / counts.sum())
    share: NDArray[np.float64] = np.minimum(1.0, np.sqrt(ratio) + ratio)
    return share


def usual_batch(corpus: NumberedCorpus, method: Method) -> int:
    """Words per batch: fewer for a small text, and more for many words, since each update changes all vectors."""
    most = max(_LARGEST[method], len(corpus.words) // 2)
    return max(BLOCK, min(most, len(corpus.train) // _FEWEST_UPDATES))
