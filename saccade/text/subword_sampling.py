"""Subword sampling: another segmentation of a text each time, drawn with a generator of ours: a seed decides it.

sentencepiece samples too, but its numbers differ from process to process, whatever the seed. Both methods go word by
word, since no piece reaches over a space.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

Sampler = Callable[[str, Random], list[int]]  # the pieces of a word with the space before it

_BEST = 64  # segmentations of a word that are drawn from: all there are of most
_REMEMBERED = 1 << 13  # words


def split_at_spaces(chunk: str) -> list[str]:
    """As sentencepiece takes them: each with the space before it."""
    return re.findall(r" [^ ]*|[^ ]+", chunk)


def unigram_sampler(pieces: Any, alpha: float) -> Sampler:
    """Kudo 2018: a segmentation x with probability p(x)^α / Σ p(x')^α; the smaller α, the more alike they all are."""

    @lru_cache(_REMEMBERED)
    def ways(word: str) -> tuple[list[list[int]], list[float]]:
        found = pieces.nbest_encode_as_ids(word, nbest_size=_BEST)
        scores = alpha * np.array([sum(map(pieces.get_score, ids)) for ids in found])
        return found, np.cumsum(np.exp(scores - scores.max())).tolist()

    def sample(word: str, random: Random) -> list[int]:
        found, up_to = ways(word)
        return found[min(bisect_right(up_to, random.random() * up_to[-1]), len(found) - 1)]

    return sample


def bpe_sampler(pieces: Any, rate: float) -> Sampler:
    """BPE dropout (Provilkov, Emelianenko & Voita 2020): at each step every merge is passed over with probability
    `rate`, the best of the others is made, and when there is none, that is the word."""
    scores = {
        pieces.id_to_piece(piece): pieces.get_score(piece)
        for piece in range(len(pieces))
        if not (pieces.is_control(piece) or pieces.is_unknown(piece) or pieces.is_byte(piece))
    }

    def sample(word: str, random: Random) -> list[int]:
        parts = [*word.replace(" ", "▁")]
        while True:
            merges = [
                (-scores[left + right], place)
                for place, (left, right) in enumerate(pairwise(parts))
                if left + right in scores and random.random() >= rate
            ]
            if not merges:
                break
            _, place = min(merges)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return [piece for part in parts for piece in _ids(part)]

    @lru_cache(_REMEMBERED)
    def _ids(part: str) -> list[int]:
        """One, or the bytes of a character that is in no piece."""
        return [pieces.piece_to_id(part)] if part in scores else list(pieces.encode(part))

    return sample
