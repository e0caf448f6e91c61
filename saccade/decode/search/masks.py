"""Tokens that may not be written next, whatever their probability: rules for all hypotheses at once.

A mask takes log-probabilities (B, N, V) and the tokens written so far (B, N, t), and returns log-probabilities that are
−∞ for the tokens it forbids. The others are not normalised again: a score uses the model's probabilities.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from saccade.decode.search.hypotheses import NEVER
from saccade.decode.search.options import Search
from saccade.text.tokeniser import EOS

Mask = Callable[[Tensor, Tensor], Tensor]


def build_masks(search: Search) -> list[Mask]:
    masks: list[Mask] = []
    if search.no_repeat is not None:
        masks.append(partial(mask_repeated_ngrams, size=search.no_repeat))
    if search.repeats:
        masks.append(partial(mask_loops, most=search.repeats))
    return masks


def mask_repeated_ngrams(log_probs: Tensor, written: Tensor, size: int) -> Tensor:
    """Forbid a token that would complete an n-gram of this size that is already there."""
    if written.shape[-1] < size:
        return log_probs
    ngrams = written.unfold(-1, size, 1)  # (B, N, t − size + 1, size)
    begun = (ngrams[..., :-1] == written[..., None, written.shape[-1] - size + 1 :]).all(-1)
    return _forbid(log_probs, ngrams[..., -1], begun)


def mask_loops(log_probs: Tensor, written: Tensor, most: int) -> Tensor:
    """Forbid a token that would complete a run of tokens, of any size, for the (`most` + 1)-th time in a row."""
    length = written.shape[-1]
    for size in _loop_sizes(written, most):
        tail = written[..., length - (most + 1) * size + 1 :]  # the last `most` + 1 runs, without their last token
        repeats = (tail[..., size:] == tail[..., :-size]).all(-1)  # (B, N)
        log_probs = _forbid(log_probs, written[..., length - size, None], repeats[..., None])
    return log_probs


def _loop_sizes(written: Tensor, most: int) -> list[int]:
    """The sizes of runs that may repeat at the end: distances at which the last few tokens occurred before. They are
    computed for all sizes at once, because one by one a step would cost more the longer the text is."""
    longest = (written.shape[-1] + 1) // (most + 1)
    # Runs of `size` need most · size − 1 equal tokens, which is at least this; with most 1, size 1 needs none.
    equal = max(1, most - 1)
    if longest * most <= 1:
        return list(range(1, longest + 1))
    last = written[..., -longest - equal :].unfold(-1, equal, 1)  # (B, N, longest + 1, equal)
    repeats = (last[..., :-1, :] == last[..., -1:, :]).all(-1).flatten(0, -2).any(0)
    sizes = {longest - place for place in repeats.nonzero().flatten().tolist()}
    return sorted(sizes | {1} if most == 1 else sizes)


def mask_early_end(log_probs: Tensor, written: Tensor, shortest: Sequence[int]) -> Tensor:
    """Forbid the end symbol in sentences that are shorter than their minimum."""
    early = [length > written.shape[-1] for length in shortest]
    if not any(early):
        return log_probs
    log_probs = log_probs.clone()
    log_probs[torch.tensor(early, device=log_probs.device), :, EOS] = NEVER
    return log_probs


def _forbid(log_probs: Tensor, tokens: Tensor, where: Tensor) -> Tensor:
    """tokens and where: (B, N, M)"""
    b, n, m = where.nonzero(as_tuple=True)
    if not len(b):
        return log_probs
    return log_probs.index_put((b, n, tokens[b, n, m]), log_probs.new_tensor(NEVER))
