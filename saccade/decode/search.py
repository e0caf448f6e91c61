"""One search over the contract, for every model: greedy, beam, or sampling.

A beam of K keeps K hypotheses of a sentence, as Sutskever 2014 and Bahdanau 2014 did: of all their continuations the
best are kept, one that ends gives up its place, and the search is over when no place is left, or when nothing that is
still open could beat what is finished. So a beam of 1 is greedy search, and a length penalty cannot stop it too early.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from saccade import tree
from saccade.models.contract import Seq2Seq
from saccade.text.tokeniser import BOS, EOS, PAD


@dataclass(frozen=True, kw_only=True)
class Search:
    """How to search. A score is log p(y) / ((5 + |y|)/6)^α (Wu 2016); α = 0 is plain log-probability."""

    beam: int = 1  # hypotheses a sentence; when sampling, samples a sentence
    length_penalty: float = 1.0  # α
    sample: bool = False
    temperature: float = 1.0
    seed: int = 1  # of samples; sentence i draws from its own stream, so a batch's company does not matter
    n_best: int = 1  # how many hypotheses must be right before the search may end
    longest: int | None = None  # output tokens; None: 10 more than twice the source's

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise ValueError(f"beam must be at least 1, got {self.beam}")
        if not 1 <= self.n_best <= self.beam:
            raise ValueError(f"n_best must be from 1 to the beam of {self.beam}, got {self.n_best}")
        if not 0 < self.temperature < math.inf:
            raise ValueError(f"temperature must be positive and finite, got {self.temperature}")
        if not math.isfinite(self.length_penalty):
            raise ValueError(f"length_penalty must be finite, got {self.length_penalty}")
        if self.longest is not None and self.longest < 1:
            raise ValueError(f"longest must be at least 1, got {self.longest}")

    def score(self, log_prob: float, length: int) -> float:
        """`length` counts the end symbol."""
        return float(log_prob / ((5 + length) / 6) ** self.length_penalty)


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    tokens: tuple[int, ...]  # without start and end
    token_log_probs: tuple[float, ...]  # of each token, and of the end where it ended
    log_prob: float
    score: float
    ended: bool  # False: cut off at the longest length


@dataclass
class _Sentence:
    """What is known of one sentence during a search."""

    index: int
    places: int
    longest: int
    ended: list[Hypothesis] = field(default_factory=list)


def search(
    model: Seq2Seq[Any, Any],
    source: Tensor,  # (B, S)
    readable: Tensor,  # (B, S)
    how: Search | None = None,
    *,
    indices: Sequence[int] | None = None,  # of the sentences in the whole input, for the streams of samples
) -> list[list[Hypothesis]]:
    """For each sentence its hypotheses, best first: those that ended, then those cut off."""
    how = how or Search()
    with torch.inference_mode():
        return _search(model, source, readable, how, list(indices or range(source.shape[0])))


def _search(
    model: Seq2Seq[Any, Any], source: Tensor, readable: Tensor, how: Search, indices: list[int]
) -> list[list[Hypothesis]]:
    width = how.beam
    lengths = readable.sum(1).tolist()
    every = [
        _Sentence(index, width, how.longest or 2 * length + 10) for index, length in zip(indices, lengths, strict=True)
    ]
    streams = {one.index: torch.Generator().manual_seed(how.seed * 1_000_003 + one.index) for one in every}
    fixed, moving = model.start(source, readable)
    device = source.device
    moving = tree.take(moving, torch.arange(len(every), device=device).repeat_interleave(width))
    totals = torch.full((len(every), width), float("-inf"), device=device)  # (B, K): log-probability so far
    totals[:, 0 if not how.sample else slice(None)] = 0.0
    history = torch.full((len(every), width, 1), BOS, device=device)  # (B, K, t+1)
    gained = torch.zeros((len(every), width, 0), device=device)  # (B, K, t)
    open_ = every
    while open_:
        t = gained.shape[-1]
        token = history[:, :, -1].flatten()
        logits, moving = model.step(token, torch.full_like(token, t), fixed, moving)
        log_probs = torch.unflatten(torch.log_softmax(logits.float(), -1), 0, (-1, width))  # (B, K, V)
        log_probs[..., PAD] = log_probs[..., BOS] = float("-inf")
        if how.sample:
            chosen = _drawn(log_probs, totals, how, [streams[sentence.index] for sentence in open_])
        else:
            chosen = _best(log_probs, totals, [sentence.places for sentence in open_])
        rows, tokens, totals = chosen
        step = log_probs.gather(1, rows[..., None].expand(-1, -1, log_probs.shape[-1])).gather(-1, tokens[..., None])
        history = torch.cat([_of_rows(history, rows), tokens[..., None]], -1)
        gained = torch.cat([_of_rows(gained, rows), step], -1)
        totals = _close(open_, history, gained, totals, how)
        going = torch.tensor(
            [b for b, sentence in enumerate(open_) if sentence.places], device=device, dtype=torch.long
        )
        base = torch.arange(len(open_), device=device)[:, None] * width
        moving = tree.take(moving, (base + rows)[going].flatten())
        if len(going) < len(open_):  # finished sentences leave the batch
            fixed, history, gained, totals = (tree.take(kept, going) for kept in (fixed, history, gained, totals))
            open_ = [open_[b] for b in going.tolist()]
    return [sorted(sentence.ended, key=lambda h: (not h.ended, -h.score)) for sentence in every]


def _of_rows(kept: Tensor, rows: Tensor) -> Tensor:
    """(B, K, t) with the hypotheses of each sentence taken from `rows` (B, K)"""
    return kept.gather(1, rows[..., None].expand(-1, -1, kept.shape[-1]))


def _best(log_probs: Tensor, totals: Tensor, places: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Of all continuations of a sentence the best, as many as it has places: (B, K) rows, tokens, totals."""
    width, vocabulary = log_probs.shape[1:]
    every = (totals[..., None] + log_probs).flatten(1)
    best, where = every.topk(width, -1)
    ranks = torch.arange(width, device=best.device)
    best = best.masked_fill(ranks >= torch.tensor(places, device=best.device)[:, None], float("-inf"))
    return where // vocabulary, where % vocabulary, best


def _drawn(
    log_probs: Tensor, totals: Tensor, how: Search, streams: list[torch.Generator]
) -> tuple[Tensor, Tensor, Tensor]:
    """Each hypothesis goes on by a draw of its own (the Gumbel-max trick, one stream a sentence)."""
    noise = torch.stack([torch.empty(log_probs.shape[1:]).exponential_(generator=stream) for stream in streams])
    tokens = (log_probs / how.temperature - noise.to(log_probs.device).log()).argmax(-1)
    rows = torch.arange(totals.shape[1], device=totals.device).expand_as(tokens)
    return rows, tokens, totals + log_probs.gather(-1, tokens[..., None]).squeeze(-1)


def _close(open_: list[_Sentence], history: Tensor, gained: Tensor, totals: Tensor, how: Search) -> Tensor:
    """Take out the hypotheses that ended or are too long; a sentence with no place left is done."""
    length = gained.shape[-1]
    ends = history[:, :, -1].eq(EOS).tolist()
    values = totals.tolist()
    closed = torch.zeros_like(totals, dtype=torch.bool)
    for b, sentence in enumerate(open_):
        too_long = length >= sentence.longest
        for k, total in enumerate(values[b]):
            if total == float("-inf") or not (ends[b][k] or too_long):
                continue
            tokens = history[b, k, 1:].tolist()
            sentence.ended.append(
                Hypothesis(
                    tokens=tuple(tokens[:-1] if ends[b][k] else tokens),
                    token_log_probs=tuple(gained[b, k].tolist()),
                    log_prob=total,
                    score=how.score(total, length),
                    ended=ends[b][k],
                )
            )
            sentence.places -= 1
            closed[b, k] = True
            values[b][k] = float("-inf")
        best_open = max(values[b])
        if best_open == float("-inf") or (not how.sample and _cannot_win(best_open, length, sentence, how)):
            sentence.places = 0
    return totals.masked_fill(closed, float("-inf"))


def _cannot_win(best_open: float, length: int, sentence: _Sentence, how: Search) -> bool:
    """No open hypothesis can still enter the n best that ended: log-probability only falls, and the penalty is
    monotone in length, so the most that it can score is at its next step or at the longest length.
    """
    ended = sorted((h.score for h in sentence.ended if h.ended), reverse=True)
    if len(ended) < how.n_best:
        return False
    return ended[how.n_best - 1] >= max(how.score(best_open, at) for at in (length + 1, sentence.longest))
