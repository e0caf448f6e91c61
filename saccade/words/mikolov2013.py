"""Mikolov, Sutskever, Chen, Corrado, Dean (2013): Distributed Representations of Words and Phrases and their
Compositionality; and Mikolov, Chen, Corrado, Dean (2013): Efficient Estimation of Word Representations in Vector Space.
A word gets the vector with which its neighbours are told from random words.

    (1) window    each occurrence w reads b words on each side, b drawn from 1 … window
    (2) skip-gram for every neighbour c:  log σ(u_w·v_c) + Σ_k log σ(−u_w·v_{n_k})
    (3) CBOW      h = mean of u_c over the neighbours c:  log σ(h·v_w) + Σ_k log σ(−h·v_{n_k})
    (4) negatives n_k ~ frequency^0.75
    (5) subsampling an occurrence of a word of frequency f is kept with probability √(t / f) + t / f

windows.py computes (1), (4) and (5). u are the input vectors, which are kept, and v the output vectors. (5) is the
formula of the authors' program; the paper has √(t / f) alone. The learning rate falls linearly, as in the program.

Deviations: the words of a block of 64 share N random words (64 for skip-gram, 16 for CBOW), each with the weight
k·pairs / N, so that the scores of a block are one matrix product. AdamW makes one update for some thousand words,
instead of plain SGD for each pair. Blocks are read in random order.

Every vector belongs to a word, whatever the sentence: *bank* is one point between its meanings.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.ranges import Count, Width
from saccade.words.options import Method, Negatives
from saccade.words.windows import WindowBatch


@dataclass(frozen=True, kw_only=True)
class Word2VecConfig:
    method: Method = "skip-gram"
    words: Count = 2  # in the vocabulary
    size: Width = 100
    negatives: Negatives = 5


class Mikolov2013(nn.Module):
    def __init__(self, config: Word2VecConfig) -> None:
        super().__init__()
        self.config = config
        self.input = nn.Embedding(config.words, config.size)  # u
        self.output = nn.Embedding(config.words, config.size)  # v
        nn.init.uniform_(self.input.weight, -0.5 / config.size, 0.5 / config.size)
        nn.init.zeros_(self.output.weight)

    def forward(self, batch: WindowBatch) -> Tensor:
        """The negative of equation 2 or of equation 3, summed over the batch."""
        return (self._skip_gram if self.config.method == "skip-gram" else self._cbow)(batch)

    def _skip_gram(self, batch: WindowBatch) -> Tensor:
        """Equation 2"""
        neighbours = batch.neighbours().float()  # (B, L, C)
        words = batch.words[:, batch.margin : batch.margin + batch.reach.shape[1]]
        of_word = self.input(words)  # (B, L, D)
        others = self.output(torch.cat([batch.words, batch.negatives], 1))  # (B, C + K, D)
        scores = of_word @ others.transpose(1, 2)  # (B, L, C + K)
        near, random = scores.split([batch.words.shape[1], batch.negatives.shape[1]], -1)
        pairs = neighbours.sum(-1, keepdim=True)
        return -(F.logsigmoid(near) * neighbours).sum() - self._of_negatives(random, pairs)

    def _cbow(self, batch: WindowBatch) -> Tensor:
        """Equation 3"""
        neighbours = batch.neighbours().float()
        count = neighbours.sum(-1, keepdim=True)  # (B, L, 1)
        mean = neighbours @ self.input(batch.words) / count.clamp_min(1)  # (B, L, D)
        words = batch.words[:, batch.margin : batch.margin + batch.reach.shape[1]]
        outputs = self.output(torch.cat([words, batch.negatives], 1))  # at once: its gradient is as large as the table
        of_words, of_random = outputs.split([words.shape[1], batch.negatives.shape[1]], 1)
        near = (mean * of_words).sum(-1, keepdim=True)  # (B, L, 1)
        random = mean @ of_random.transpose(1, 2)  # (B, L, K)
        is_pair = (count > 0).float()
        return -(F.logsigmoid(near) * is_pair).sum() - self._of_negatives(random, is_pair)

    def _of_negatives(self, scores: Tensor, pairs: Tensor) -> Tensor:
        """Σ log σ(−score) over k random words for each pair: scores (B, L, K), pairs (B, L, 1)"""
        weight = self.config.negatives / scores.shape[-1]
        return (F.logsigmoid(-scores) * (pairs * weight)).sum()
