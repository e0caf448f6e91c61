"""Masks: tokens that may not come next. All of them work in place on scores (B, N, V), and none of them reads a result
back from the device.

A forbidden token gets −∞. The others are not normalised again: a score uses the model's probabilities.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.decode.constraints.choice import NEVER
from saccade.decode.options import Search
from saccade.text import EOS

_NOTHING = -1  # the place of a token that is not yet written


class Recent(NamedTuple):
    """The last tokens of each hypothesis, from which its repetitions follow."""

    tokens: Tensor  # (B, N, W), the last token first
    runs: Tensor  # (B, N, D): for d = 1 … D, how many of the last tokens in a row equal the token d places before

    @classmethod
    def start(cls, sentences: int, search: Search, longest: int, device: torch.device) -> "Recent | None":
        """None if nothing is limited."""
        sizes = longest // (search.repeats + 1) if search.repeats else 0
        width = longest if search.no_repeat is not None else sizes
        if not width:
            return None
        tokens = torch.full((sentences, search.beam, width), _NOTHING, device=device)
        return cls(tokens, torch.zeros_like(tokens[..., :sizes]))

    def follow(self, rows: Tensor, tokens: Tensor) -> "Recent":
        """Hypothesis n continues hypothesis rows[n] with tokens[n], both (B, N)."""
        before, runs = (part.gather(1, rows[..., None].expand(-1, -1, part.shape[-1])) for part in self)
        new = tokens[..., None]
        runs = (runs + 1) * (before[..., : runs.shape[-1]] == new)
        return Recent(torch.cat([new, before[..., :-1]], -1), runs)


def mask_early_end(scores: Tensor, shortest: Tensor, written: Tensor) -> None:
    """Forbid the end symbol in sentences that are shorter than their minimum, `shortest` (B,)."""
    scores[..., EOS].masked_fill_((shortest > written)[:, None], NEVER)


def mask_repeated_ngrams(scores: Tensor, recent: Recent, size: int) -> None:
    """Forbid a token that would complete an n-gram of this size that is already there."""
    tokens = recent.tokens
    begun = torch.ones_like(tokens[..., size - 1 :], dtype=torch.bool)  # by the last token of each n-gram
    for place in range(size - 1 if begun.shape[-1] else 0):
        begun &= tokens[..., place + 1 : place + 1 + begun.shape[-1]] == tokens[..., place, None]
    _forbid(scores, tokens[..., : begun.shape[-1]], begun)


def mask_loops(scores: Tensor, recent: Recent, most: int) -> None:
    """Forbid a token that would complete a run of tokens, of any size, for the (`most` + 1)-th time in a row."""
    sizes = torch.arange(1, recent.runs.shape[-1] + 1, device=scores.device)
    _forbid(scores, recent.tokens[..., : len(sizes)], recent.runs >= most * sizes - 1)


def _forbid(scores: Tensor, tokens: Tensor, where: Tensor) -> None:
    """tokens and where: (B, N, M). Adding −∞ or 0 gives the same result in any order, if a token occurs twice."""
    forbidden = torch.zeros_like(tokens, dtype=scores.dtype).masked_fill_(where & (tokens != _NOTHING), NEVER)
    scores.scatter_add_(-1, tokens.clamp_min(0), forbidden)


def mask_improbable(log_probs: Tensor, search: Search) -> Tensor:
    """(…, V) with −∞ for tokens that are not sampled. Every limit is applied to the probabilities at the temperature;
    the most probable token passes all of them."""
    probs = torch.softmax(log_probs, -1)
    least = search.min_p * probs.amax(-1, keepdim=True)
    if search.top_k is not None and search.top_k < probs.shape[-1]:
        least = torch.maximum(least, probs.topk(search.top_k, -1).values[..., -1:])
    if search.top_p < 1:
        falling = probs.sort(-1, descending=True).values
        before = falling.cumsum(-1) - falling  # the probability of all tokens that are more probable
        last = ((before < search.top_p).sum(-1, keepdim=True) - 1).clamp_min(0)
        least = torch.maximum(least, falling.gather(-1, last))
    return log_probs.masked_fill(probs < least, NEVER)
