"""Subword sampling: another segmentation of a text each time, which depends on a seed alone.

The samples of sentencepiece differ from process to process, whatever the seed. Both methods sample word by word, since
no token spans a space.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

Sampler = Callable[[str, Random], list[int]]  # returns the tokens of a word with the space before it

_BEST = 64  # segmentations of a word to sample from; most words have fewer
_CACHED = 1 << 13  # words


def split_at_spaces(chunk: str) -> list[str]:
    """Split as sentencepiece does: each word with the space before it."""
    return re.findall(r" [^ ]*|[^ ]+", chunk)


def unigram_sampler(pieces: Any, alpha: float) -> Sampler:
    """Kudo 2018: a segmentation x has probability p(x)^α / Σ p(x')^α. The smaller α, the more uniform."""

    @lru_cache(_CACHED)
    def segment(word: str) -> tuple[list[list[int]], list[float]]:
        segmentations = pieces.nbest_encode_as_ids(word, nbest_size=_BEST)
        scores = alpha * np.array([sum(map(pieces.get_score, ids)) for ids in segmentations])
        return segmentations, np.cumsum(np.exp(scores - scores.max())).tolist()

    def sample(word: str, random: Random) -> list[int]:
        segmentations, cumulative = segment(word)
        place = bisect_right(cumulative, random.random() * cumulative[-1])
        return segmentations[min(place, len(segmentations) - 1)]

    return sample


def bpe_sampler(pieces: Any, rate: float) -> Sampler:
    """BPE dropout (Provilkov, Emelianenko & Voita 2020): at each step, every merge is dropped with probability `rate`
    and the best of the others is applied, until none is left."""
    scores = {
        pieces.id_to_piece(token): pieces.get_score(token)
        for token in range(len(pieces))
        if not (pieces.is_control(token) or pieces.is_unknown(token) or pieces.is_byte(token))
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
        return [token for part in parts for token in _ids(part)]

    @lru_cache(_CACHED)
    def _ids(part: str) -> list[int]:
        """Return one id, or the bytes of a character that is not in the vocabulary."""
        return [pieces.piece_to_id(part)] if part in scores else list(pieces.encode(part))

    return sample
