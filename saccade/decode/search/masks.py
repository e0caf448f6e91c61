"""What may not be written next, whatever the model thinks of it: rules of form, over all hypotheses at once.

A mask sets log-probabilities (B, N, V) to −∞ in place, given what is written (B, N, t). Nothing is shared out among the
tokens that stay: a score is of the model's own probabilities.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from saccade.decode.search.options import Search
from saccade.text.tokeniser import EOS

Mask = Callable[[Tensor, Tensor], None]
_NEVER = float("-inf")


def masks_of(how: Search) -> list[Mask]:
    masks: list[Mask] = []
    if how.no_repeat is not None:
        masks.append(partial(no_run_twice, how.no_repeat))
    if how.repeats is not None:
        masks.append(partial(no_endless_loop, how.repeats))
    return masks


def no_run_twice(size: int, log_probs: Tensor, written: Tensor) -> None:
    """A token that would end a run of `size` tokens that is there already."""
    if written.shape[-1] < size:
        return
    runs = written.unfold(-1, size, 1)  # (B, N, t − size + 1, size)
    again = (runs[..., :-1] == written[..., None, written.shape[-1] - size + 1 :]).all(-1)
    _bar(log_probs, runs[..., -1], again)


def no_endless_loop(most: int, log_probs: Tensor, written: Tensor) -> None:
    """A token that would complete a run of any size for the (`most` + 1)-th time in a row."""
    length = written.shape[-1]
    for size in _periods(most, written):
        tail = written[..., length - (most + 1) * size + 1 :]  # all but the last token of so many runs
        again = (tail[..., size:] == tail[..., :-size]).all(-1)  # (B, N)
        _bar(log_probs, written[..., length - size, None], again[..., None])


def _periods(most: int, written: Tensor) -> list[int]:
    """The sizes of runs that may stand in a row at the end: those by which the last few tokens can be moved back and
    meet their like. They are found for all sizes at once: one by one, a long text would cost more with every token."""
    longest = (written.shape[-1] + 1) // (most + 1)
    # Runs of `size` need most · size − 1 tokens to be alike, which is at least this; but nothing, of size 1 for most 1.
    alike = max(1, most - 1)
    if longest * most <= 1:
        return list(range(1, longest + 1))
    last = written[..., -longest - alike :].unfold(-1, alike, 1)  # (B, N, longest + 1, alike), the last one last
    again = (last[..., :-1, :] == last[..., -1:, :]).all(-1).flatten(0, -2).any(0)
    sizes = {longest - place for place in again.nonzero().flatten().tolist()}
    return sorted(sizes | {1} if most == 1 else sizes)


def not_yet(shortest: Sequence[int], log_probs: Tensor, written: Tensor) -> None:
    """The end, of sentences that are too short to end."""
    early = [length > written.shape[-1] for length in shortest]
    if any(early):
        log_probs[torch.tensor(early, device=log_probs.device), :, EOS] = _NEVER


def _bar(log_probs: Tensor, tokens: Tensor, which: Tensor) -> None:
    """tokens, which (B, N, M)"""
    b, n, m = which.nonzero(as_tuple=True)
    log_probs[b, n, tokens[b, n, m]] = _NEVER
