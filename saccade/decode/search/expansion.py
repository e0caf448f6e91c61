"""One step of a search: from log-probabilities, by masks and scores, to the chosen tokens.

Hypotheses compete within groups: a beam is one group, a diverse beam has several, and each sample is a group of its own
whose scores are random.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.decode.constraints.choice import NEVER, ConstrainedChoice
from saccade.decode.options import Search
from saccade.decode.search.best import find_best
from saccade.decode.search.masks import Recent, mask_early_end, mask_improbable, mask_loops, mask_repeated_ngrams

Choices = Mapping[int, ConstrainedChoice]  # by the sentence's row in the batch


class Expansion(NamedTuple):
    """The tokens chosen in one step."""

    rows: Tensor  # (B, N) which hypothesis is continued
    tokens: Tensor  # (B, N) with which token
    alive: Tensor  # (B, N) False if there is no hypothesis


class Prediction(NamedTuple):
    """The log-probability of token v after hypothesis n is scores[n, v] − norms[n]."""

    scores: Tensor  # (B, N, V)
    norms: Tensor | None = None  # (B, N); None: the scores are log-probabilities

    def log_probs_of(self, rows: Tensor, tokens: Tensor) -> Tensor:
        """(B, N) of tokens[n] after hypothesis rows[n]"""
        scores = self.scores.flatten(1).gather(1, rows * self.scores.shape[-1] + tokens).float()
        return scores if self.norms is None else scores - self.norms.gather(1, rows)


@dataclass(frozen=True)
class HostParts:
    """The parts of a search that need the host at every step."""

    choices: Choices  # of sentences with constraints
    generators: Sequence[torch.Generator]  # of the samples of each sentence; none without sampling


class TokenScores(NamedTuple):
    """The score of hypothesis n with token v is totals[n] + tokens[n, v]."""

    totals: Tensor  # (B, N)
    tokens: Tensor  # (B, N, V)
    possible: Tensor  # (B, N, V) `tokens` without the limits of sampling, for tokens that a constraint needs


def score(
    predicted: Prediction,
    totals: Tensor,  # (B, N)
    recent: Recent | None,
    shortest: Tensor,  # (B,)
    written: Tensor,  # (1,) the number of tokens so far
    search: Search,
    host: HostParts,
) -> TokenScores:
    """The scores to choose by, with the masks applied; those predicted are changed unless there are constraints, which
    may need a masked token."""
    allowed = predicted.scores.clone() if host.choices else predicted.scores
    if search.shortest or search.shortest_ratio:
        mask_early_end(allowed, shortest, written)
    if recent is not None and search.no_repeat is not None:
        mask_repeated_ngrams(allowed, recent, search.no_repeat)
    if recent is not None and search.repeats:
        mask_loops(allowed, recent, search.repeats)
    for b, choice in host.choices.items():
        choice.restrict(allowed[b], predicted.scores[b])
    if not search.sample:
        return TokenScores(totals if predicted.norms is None else totals - predicted.norms, allowed, allowed)
    # Gumbel noise: log p + noise is largest at a token with the token's probability.
    drawn = [torch.empty(allowed.shape[1:]).exponential_(generator=generator) for generator in host.generators]
    noise = -torch.stack(drawn).clamp_min_(torch.finfo(torch.float32).tiny).to(allowed.device).log()
    tempered = allowed / search.temperature
    exists = torch.zeros_like(totals).masked_fill(totals == NEVER, NEVER)
    return TokenScores(exists, mask_improbable(tempered, search) + noise, tempered + noise)


def choose(scores: TokenScores, places: Tensor, written: Tensor, search: Search, choices: Choices) -> Expansion:
    """Choose the next token of every hypothesis, as many as each group has places (B, G), after `written` (1,)."""
    groups, width = search.layout
    totals, free, possible = (torch.unflatten(each, 1, (groups, width)) for each in scores)
    chosen = torch.zeros_like(scores.tokens[:, 0]) if search.groups > 1 else None  # (B, V) how often, by groups before
    turns = []
    for g in range(search.groups):  # of a diverse beam, one after another; samples are chosen at once
        turn = slice(g, g + 1) if search.groups > 1 else slice(None)
        tokens = free[:, turn] - search.diversity * chosen[:, None, None] if g and chosen is not None else free[:, turn]
        needed = possible[:, turn] if search.sample else tokens
        best = _choose_best(TokenScores(totals[:, turn], tokens, needed), places[:, turn], written, choices, g * width)
        if chosen is not None:
            chosen.scatter_add_(1, best.tokens.flatten(1), best.alive.flatten(1).to(chosen.dtype))
        turns.append(best)
    rows, tokens, alive = (torch.cat(parts, 1) if len(parts) > 1 else parts[0] for parts in zip(*turns, strict=True))
    rows = rows + torch.arange(groups, device=rows.device)[:, None] * width
    return Expansion(rows.flatten(1), tokens.flatten(1), alive.flatten(1))


def _choose_best(scores: TokenScores, places: Tensor, written: Tensor, choices: Choices, first_row: int) -> Expansion:
    """The best continuations in each group: totals (B, G, K), tokens (B, G, K, V), as many as the group has places
    (B, G). The result is (B, G, K), with rows within the group."""
    width = scores.totals.shape[2]
    best, rows, tokens = find_best(scores.tokens, scores.totals, width)
    ranks = torch.arange(width, device=best.device)
    alive = (best > NEVER) & (ranks < places[..., None])
    for b, choice in choices.items():
        for g, left in enumerate(places[b].tolist()):
            total = scores.totals[b, g, :, None]
            free = scores.tokens[b, g] + total
            needed = free if scores.possible is scores.tokens else scores.possible[b, g] + total
            picks = choice.choose(free, needed, first_row + g * width, left, int(written) + 1)
            alive[b, g] = ranks < len(picks)
            for k, pick in enumerate(picks):
                rows[b, g, k], tokens[b, g, k] = pick.row, pick.token
    return Expansion(rows, tokens, alive)
