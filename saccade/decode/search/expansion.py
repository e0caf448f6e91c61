"""From log-probabilities to the tokens of one step: masks, scores, choice.

A mask takes log-probabilities (B, N, V) and the tokens written so far (B, N, t), and returns log-probabilities that are
−∞ for the tokens it forbids. The others are not normalised again: a score uses the model's probabilities.

Hypotheses compete within groups: a beam is one group, a diverse beam has several, and each sample is a group of its own
whose scores are random.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from saccade.decode.constraints.choice import ConstrainedChoice
from saccade.decode.search.hypotheses import NEVER, Expansion, SentenceSearch
from saccade.decode.search.options import Search
from saccade.decode.search.sampling import SampleNoise, mask_improbable
from saccade.text import EOS

Mask = Callable[[Tensor, Tensor], Tensor]
Choices = Mapping[int, ConstrainedChoice]  # by the sentence's row in the batch


class Expander:
    """Chooses the next token of every hypothesis of a search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._masks = build_masks(search)
        self._noise = SampleNoise(search.seed) if search.sample else None

    def __call__(
        self, log_probs: Tensor, totals: Tensor, written: Tensor, sentences: Sequence[SentenceSearch]
    ) -> Expansion:
        """log_probs (B, N, V), totals (B, N), written (B, N, t)"""
        groups, width = self._search.layout
        choices = {b: s.constrained for b, s in enumerate(sentences) if s.constrained is not None}
        allowed = self._mask(log_probs, written, sentences, choices)
        free, possible = self._rank(allowed, totals, sentences)
        places = torch.tensor([sentence.places for sentence in sentences], device=totals.device)  # (B, G)
        length = written.shape[-1] + 1
        if groups == 1 or self._search.sample:
            by_group = torch.unflatten(free, 1, (groups, width))
            possible_by_group = by_group if possible is free else torch.unflatten(possible, 1, (groups, width))
            rows, tokens, alive = _choose_best(by_group, possible_by_group, places, choices, length)
        else:
            rows, tokens, alive = self._choose_diverse(free, places, choices, length)
        rows = rows + torch.arange(groups, device=rows.device)[:, None] * width
        return Expansion(rows.flatten(1), tokens.flatten(1), alive.flatten(1), free)

    def _mask(
        self, log_probs: Tensor, written: Tensor, sentences: Sequence[SentenceSearch], choices: Choices
    ) -> Tensor:
        allowed = mask_early_end(log_probs, written, [sentence.shortest for sentence in sentences])
        for mask in self._masks:
            allowed = mask(allowed, written)
        if choices:
            rows = [choices[b].restrict(row, log_probs[b]) if b in choices else row for b, row in enumerate(allowed)]
            allowed = torch.stack(rows)
        return allowed

    def _rank(self, allowed: Tensor, totals: Tensor, sentences: Sequence[SentenceSearch]) -> tuple[Tensor, Tensor]:
        """Scores (B, N, V) to choose by, and scores of every token that is possible where a constraint needs it."""
        if self._noise is None:
            scores = totals[..., None] + allowed
            return scores, scores
        tempered = allowed / self._search.temperature
        noise = self._noise.draw([sentence.index for sentence in sentences], tuple(allowed.shape[1:]), allowed.device)
        noise = noise.masked_fill(totals[..., None] == NEVER, NEVER)
        return mask_improbable(tempered, self._search) + noise, tempered + noise

    def _choose_diverse(
        self, scores: Tensor, places: Tensor, choices: Choices, length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One group after another: each token costs as much as the groups before have chosen it."""
        by_group = torch.unflatten(scores, 1, self._search.layout)
        chosen = torch.zeros_like(scores[:, :1, :])  # (B, 1, V) how often
        groups = []
        for g in range(self._search.groups):
            costly = by_group[:, g : g + 1] - self._search.diversity * chosen[:, None]
            rows, tokens, alive = _choose_best(costly, costly, places[:, g : g + 1], choices, length, group=g)
            groups.append((rows, tokens, alive))
            chosen.scatter_add_(2, tokens, alive.to(chosen.dtype))
        rows, tokens, alive = (torch.cat(parts, 1) for parts in zip(*groups, strict=True))
        return rows, tokens, alive


def _choose_best(
    free: Tensor, possible: Tensor, places: Tensor, choices: Choices, length: int, group: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """The best continuations in each group (B, G, K, V), as many as the group has places (B, G): rows, tokens and
    whether there is one, each (B, G, K)."""
    width, vocabulary = free.shape[2:]
    best, where = free.flatten(2).topk(width, -1)
    rows, tokens = where // vocabulary, where % vocabulary
    ranks = torch.arange(width, device=best.device)
    alive = (best > NEVER) & (ranks < places[..., None])
    for b, choice in choices.items():
        for g, left in enumerate(places[b].tolist()):
            scores = free[b, g]
            every = scores if possible is free else possible[b, g]
            picks = choice.choose(scores, every, (group + g) * width, left, length)
            alive[b, g] = ranks < len(picks)
            for k, pick in enumerate(picks):
                rows[b, g, k], tokens[b, g, k] = pick.row, pick.token
    return rows, tokens, alive


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
