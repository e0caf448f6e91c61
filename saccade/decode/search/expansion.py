"""The hypotheses of a search, and one step: from log-probabilities, by masks and scores, to the chosen tokens.

A mask takes log-probabilities (B, N, V) and the tokens written so far (B, N, t), and returns log-probabilities that are
−∞ for the tokens it forbids. The others are not normalised again: a score uses the model's probabilities.

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
from saccade.text import EOS

Choices = Mapping[int, ConstrainedChoice]  # by the sentence's row in the batch


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A finished hypothesis."""

    tokens: tuple[int, ...]  # without start and end
    token_log_probs: tuple[float, ...]  # of each token, and of the end symbol if it ended; unchanged by any mask
    log_prob: float
    score: float
    ended: bool  # False: cut off at the maximum length, or because no token was allowed
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason


class OpenHypotheses(NamedTuple):
    """The hypotheses that can still grow, N per sentence."""

    totals: Tensor  # (B, N) log-probability so far; −∞ if there is no hypothesis
    history: Tensor  # (B, N, t + 1) tokens, beginning with the start symbol
    log_probs: Tensor  # (B, N, t) log-probability of each token
    covered: Tensor | None  # (B, N, S) attention that each source token has received; None without a coverage penalty


class Expansion(NamedTuple):
    """The tokens chosen in one step."""

    rows: Tensor  # (B, N) which hypothesis is continued
    tokens: Tensor  # (B, N) with which token
    alive: Tensor  # (B, N) False if there is no hypothesis
    ranking: Tensor  # (B, N, V) the scores by which they were chosen


@dataclass
class SentenceSearch:
    """One sentence of a search."""

    index: int  # its number in the whole input
    shortest: int
    longest: int
    places: list[int]  # of each group: how many hypotheses may still be open
    finished: list[list[Hypothesis]]  # of each group
    random: torch.Generator  # of its samples, which depend on the seed and on its index alone
    constrained: ConstrainedChoice | None


def expand(
    log_probs: Tensor, hypotheses: OpenHypotheses, sentences: Sequence[SentenceSearch], search: Search
) -> Expansion:
    """Choose the next token of every hypothesis, by log-probabilities (B, N, V)."""
    (groups, width), length = search.layout, hypotheses.history.shape[-1]
    choices = {b: s.constrained for b, s in enumerate(sentences) if s.constrained is not None}
    allowed = _mask(log_probs, hypotheses.history[..., 1:], sentences, choices, search)
    scores, possible = _score(allowed, hypotheses.totals[..., None], sentences, search)
    by_group, possible_by_group = (torch.unflatten(each, 1, (groups, width)) for each in (scores, possible))
    places = torch.tensor([sentence.places for sentence in sentences], device=scores.device)  # (B, G)
    chosen = torch.zeros_like(scores[:, 0])  # (B, V) how often, by the groups before
    turns = []
    for g in range(search.groups):  # of a diverse beam, one after another; samples are chosen at once
        turn = slice(g, g + 1) if search.groups > 1 else slice(None)
        free = by_group[:, turn] - search.diversity * chosen[:, None, None] if g else by_group[:, turn]
        needed = possible_by_group[:, turn] if search.sample else free
        rows, tokens, alive = _choose_best(free, needed, places[:, turn], choices, length, first_row=g * width)
        chosen.scatter_add_(1, tokens.flatten(1), alive.flatten(1).to(chosen.dtype))
        turns.append((rows, tokens, alive))
    rows, tokens, alive = (torch.cat(parts, 1) for parts in zip(*turns, strict=True))
    rows = rows + torch.arange(groups, device=rows.device)[:, None] * width
    return Expansion(rows.flatten(1), tokens.flatten(1), alive.flatten(1), scores)


def _mask(
    log_probs: Tensor, written: Tensor, sentences: Sequence[SentenceSearch], choices: Choices, search: Search
) -> Tensor:
    allowed = mask_early_end(log_probs, written, [sentence.shortest for sentence in sentences])
    if search.no_repeat is not None:
        allowed = mask_repeated_ngrams(allowed, written, search.no_repeat)
    if search.repeats:
        allowed = mask_loops(allowed, written, search.repeats)
    if choices:
        rows = [choices[b].restrict(row, log_probs[b]) if b in choices else row for b, row in enumerate(allowed)]
        allowed = torch.stack(rows)
    return allowed


def _score(
    allowed: Tensor, totals: Tensor, sentences: Sequence[SentenceSearch], search: Search
) -> tuple[Tensor, Tensor]:
    """Scores (B, N, V) to choose by, and scores of every token that is possible where a constraint needs it. Samples
    get Gumbel noise: log p + noise is largest at a token with the token's probability."""
    if not search.sample:
        scores = totals + allowed
        return scores, scores
    drawn = [torch.empty(allowed.shape[1:]).exponential_(generator=sentence.random) for sentence in sentences]
    noise = -torch.stack(drawn).clamp_min_(torch.finfo(torch.float32).tiny).to(allowed.device).log()
    noise = noise.masked_fill(totals == NEVER, NEVER)
    tempered = allowed / search.temperature
    return mask_improbable(tempered, search) + noise, tempered + noise


def _choose_best(
    free: Tensor, possible: Tensor, places: Tensor, choices: Choices, length: int, first_row: int
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
            needed = scores if possible is free else possible[b, g]
            picks = choice.choose(scores, needed, first_row + g * width, left, length)
            alive[b, g] = ranks < len(picks)
            for k, pick in enumerate(picks):
                rows[b, g, k], tokens[b, g, k] = pick.row, pick.token
    return rows, tokens, alive


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
