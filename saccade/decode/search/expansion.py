"""From log-probabilities to what is kept: scores → what may be chosen → the choice, for every mode of search.

Hypotheses compete within groups: one group is a beam, several are a diverse beam, and a sample is a group by itself
whose scores are drawn.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.decode.constraints.choice import ConstrainedChoice
from saccade.decode.search.masks import masks_of, not_yet
from saccade.decode.search.options import Search
from saccade.decode.search.sampling import Streams, likely
from saccade.text.tokeniser import BOS, PAD

_NEVER = float("-inf")


class Asking(NamedTuple):
    """What one sentence has to do with a choice."""

    number: int  # by which it draws
    shortest: int
    places: list[int]  # of each group
    guide: ConstrainedChoice | None


class Chosen(NamedTuple):
    rows: Tensor  # (B, N): which hypothesis goes on
    tokens: Tensor  # (B, N): with what
    alive: Tensor  # (B, N): False where there is none
    ranking: Tensor  # (B, N, V): by what they were chosen


class Chooser:
    def __init__(self, how: Search) -> None:
        self._how = how
        self._masks = masks_of(how)
        self._streams = Streams(how.seed)

    def __call__(self, log_probs: Tensor, totals: Tensor, written: Tensor, asking: Sequence[Asking]) -> Chosen:
        """log_probs (B, N, V), totals (B, N), written (B, N, t)"""
        allowed = self._allowed(log_probs, written, asking)
        free, every = self._ranking(allowed, totals, asking)
        groups, width = self._how.layout
        guides = {b: one.guide for b, one in enumerate(asking) if one.guide is not None}
        places = torch.tensor([one.places for one in asking], device=totals.device)  # (B, G)
        length = written.shape[-1] + 1
        if groups == 1 or self._how.sample:
            grouped = torch.unflatten(free, 1, (groups, width))
            needed = grouped if every is free else torch.unflatten(every, 1, (groups, width))
            rows, tokens, alive = _best(grouped, needed, places, guides, length)
        else:
            rows, tokens, alive = self._one_group_after_another(free, places, guides, length)
        rows = rows + torch.arange(groups, device=rows.device)[:, None] * width
        return Chosen(rows.flatten(1), tokens.flatten(1), alive.flatten(1), free)

    def _allowed(self, log_probs: Tensor, written: Tensor, asking: Sequence[Asking]) -> Tensor:
        log_probs[..., PAD] = log_probs[..., BOS] = _NEVER
        shortest = [one.shortest for one in asking]
        guides = [(b, one.guide) for b, one in enumerate(asking) if one.guide is not None]
        if not (self._masks or guides or max(shortest) > written.shape[-1]):
            return log_probs
        allowed = log_probs.clone()
        not_yet(shortest, allowed, written)
        for mask in self._masks:
            mask(allowed, written)
        for b, guide in guides:
            guide.begin(allowed[b], log_probs[b])
        return allowed

    def _ranking(self, allowed: Tensor, totals: Tensor, asking: Sequence[Asking]) -> tuple[Tensor, Tensor]:
        """(B, N, V) of what is to be chosen from, and of what can be where a constraint needs it."""
        if not self._how.sample:
            every = totals[..., None] + allowed
            return every, every
        tempered = allowed / self._how.temperature
        noise = self._streams.noise([one.number for one in asking], tuple(allowed.shape[1:]), allowed.device)
        noise = noise.masked_fill(totals[..., None] == _NEVER, _NEVER)  # of hypotheses that are no more
        return likely(tempered, self._how) + noise, tempered + noise

    def _one_group_after_another(
        self, ranking: Tensor, places: Tensor, guides: Mapping[int, ConstrainedChoice], length: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """A token costs a group as much as the groups before it have chosen it."""
        groups, width = self._how.layout
        by_group = torch.unflatten(ranking, 1, (groups, width))
        taken = torch.zeros_like(ranking[:, :1, :])  # (B, 1, V)
        found = []
        for g in range(groups):
            scores = by_group[:, g : g + 1] - self._how.diversity * taken[:, None]
            found.append(_best(scores, scores, places[:, g : g + 1], guides, length, group=g))
            _, tokens, alive = found[-1]
            taken.scatter_add_(2, tokens, alive.to(taken.dtype))
        rows, tokens, alive = (torch.cat(parts, 1) for parts in zip(*found, strict=True))
        return rows, tokens, alive


def _best(
    free: Tensor, every: Tensor, places: Tensor, guides: Mapping[int, ConstrainedChoice], length: int, group: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Of all continuations in a group (B, G, K, V) the best, as many as it has places (B, G): rows, tokens and whether
    there is one, (B, G, K)."""
    width, vocabulary = free.shape[2:]
    best, where = free.flatten(2).topk(width, -1)
    rows, tokens = where // vocabulary, where % vocabulary
    ranks = torch.arange(width, device=best.device)
    alive = (best > _NEVER) & (ranks < places[..., None])
    for b, guide in guides.items():
        for g, left in enumerate(places[b].tolist()):
            scores = free[b, g]
            others = scores if every is free else every[b, g]
            picks = guide.choose(scores, others, (group + g) * width, left, length)
            alive[b, g] = ranks < len(picks)
            for k, pick in enumerate(picks):
                rows[b, g, k], tokens[b, g, k] = pick.row, pick.token
    return rows, tokens, alive
