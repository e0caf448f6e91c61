"""One search for every model: greedy, beam, diverse beam or sampling, with or without constraints.

A beam of K keeps K hypotheses per sentence (Sutskever 2014, Bahdanau 2014). At each step the best of all their
continuations are kept. A hypothesis that ends gives up its place. The search of a sentence is over when no place is
left, or when no open hypothesis could still beat the finished ones. So a beam of 1 is greedy search, and a length
penalty cannot stop the search too early.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import parametrize

from saccade.align.attention import NO_ATTENTION
from saccade.decode.constraints.choice import NEVER, ConstrainedChoice, Rules
from saccade.decode.options import Search
from saccade.decode.search.expansion import Expansion, Hypothesis, OpenHypotheses, SentenceSearch, expand
from saccade.decode.search.recording import Recorder
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq, take_rows
from saccade.text import BOS, EOS, PAD

OnStep = Callable[[int, int], None]  # called after each step with the number of tokens written, and the maximum
_STUCK = "no token that the other rules allow could follow"
_LEAST_COVERED = 1e-9  # sparse attention may never read a token; log 0 would outweigh everything


def run_search(
    model: Seq2Seq[Any, Any],
    source: Tensor,  # (B, S)
    readable: Tensor,  # (B, S)
    search: Search | None = None,
    *,
    indices: Sequence[int] | None = None,  # the sentences' numbers in the whole input
    rules: Sequence[Rules | None] | None = None,  # the constraints of each sentence
    recorder: Recorder | None = None,
    on_step: OnStep | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, best first: those that ended, then those that were cut off."""
    search = search or Search()
    if search.coverage_penalty > 0 and not model.cross:
        raise UserError(f"a coverage penalty needs attention weights, but {NO_ATTENTION}")
    indices, rules = indices or range(len(source)), rules or [None] * len(source)
    sentences = [
        _start_sentence(length, search, index, rule)
        for length, index, rule in zip(readable.sum(1).tolist(), indices, rules, strict=True)
    ]
    if recorder is not None:
        recorder.begin(indices, search.beam)
    with torch.inference_mode(), parametrize.cached():  # normalised weights are computed once per search
        _extend(model, source, readable, search, sentences, recorder, on_step)
    results = [_rank(sentence, search) for sentence in sentences]
    if recorder is not None:
        recorder.finish(indices, results)
    return results


def _extend(
    model: Seq2Seq[Any, Any],
    source: Tensor,
    readable: Tensor,
    search: Search,
    sentences: list[SentenceSearch],
    recorder: Recorder | None,
    on_step: OnStep | None,
) -> None:
    """Extend all hypotheses by one token at a time, until every sentence has finished."""
    device = source.device
    fixed, moving = model.start(source, readable)
    moving = take_rows(moving, torch.arange(len(sentences), device=device).repeat_interleave(search.beam))
    hypotheses = _start_hypotheses(source, readable, search)
    while sentences:
        token = hypotheses.history[:, :, -1].flatten()  # (B·N,)
        t = torch.full_like(token, hypotheses.log_probs.shape[-1])
        with nullcontext() if hypotheses.covered is None else model.trace() as trace:
            logits, moving = model.step(token, t, fixed, moving)
        if hypotheses.covered is not None and trace is not None:
            reads = torch.stack([trace[site].float().mean((1, 2)) for site in model.cross]).mean(0)  # (B·N, S)
            hypotheses = hypotheses._replace(covered=hypotheses.covered + torch.unflatten(reads, 0, (-1, search.beam)))
        log_probs = torch.unflatten(torch.log_softmax(logits.float(), -1), 0, (-1, search.beam))  # (B, N, V)
        log_probs[..., PAD] = log_probs[..., BOS] = NEVER
        expansion = expand(log_probs, hypotheses, sentences, search)
        if recorder is not None:
            recorder.step([s.index for s in sentences], expansion, hypotheses.totals, log_probs)
        before, hypotheses = hypotheses, _follow(hypotheses, expansion, log_probs)
        if on_step is not None:
            on_step(hypotheses.log_probs.shape[-1], max(sentence.longest for sentence in sentences))
        hypotheses = hypotheses._replace(totals=_finish(sentences, before, hypotheses, search))
        going = [b for b, sentence in enumerate(sentences) if any(sentence.places)]
        rows = torch.tensor(going, device=device, dtype=torch.long)
        if len(going) < len(sentences) or search.layout[1] > 1:
            offsets = torch.arange(len(sentences), device=device)[:, None] * search.beam
            moving = take_rows(moving, (offsets + expansion.rows)[rows].flatten())
        if len(going) < len(sentences):  # finished sentences leave the batch
            fixed, hypotheses = take_rows((fixed, hypotheses), rows)
            sentences = [sentences[b] for b in going]


def _start_sentence(length: int, search: Search, index: int, rules: Rules | None) -> SentenceSearch:
    groups, width = search.layout
    shortest, longest = search.length_limits(length, 0 if rules is None else int(rules.start.left))
    constrained = None if rules is None else ConstrainedChoice(rules, search.beam, longest)
    finished: list[list[Hypothesis]] = [[] for _ in range(groups)]
    random = torch.Generator()
    if search.sample:
        random.manual_seed(*np.random.SeedSequence((search.seed, index)).generate_state(1, np.uint64).tolist())
    return SentenceSearch(index, shortest, longest, [width] * groups, finished, random, constrained)


def _start_hypotheses(source: Tensor, readable: Tensor, search: Search) -> OpenHypotheses:
    """One hypothesis per group, of the start symbol alone."""
    (groups, width), count, device = search.layout, len(source), source.device
    totals = torch.full((count, groups, width), NEVER, device=device)
    totals[..., 0] = 0.0
    covered = None
    if search.coverage_penalty > 0:  # padding and the end symbol count as covered
        covered = (~readable | (source == EOS)).float()[:, None].repeat(1, search.beam, 1)
    return OpenHypotheses(
        totals.flatten(1),
        torch.full((count, search.beam, 1), BOS, device=device),
        torch.zeros((count, search.beam, 0), device=device),
        covered,
    )


def _follow(hypotheses: OpenHypotheses, expansion: Expansion, log_probs: Tensor) -> OpenHypotheses:
    """The hypotheses with the chosen tokens."""
    rows, tokens, alive, _ = expansion
    step = log_probs.flatten(1).gather(1, rows * log_probs.shape[-1] + tokens)

    def take(values: Tensor) -> Tensor:  # (B, N, …)
        return values.gather(1, rows[..., None].expand(-1, -1, values.shape[-1]))

    return OpenHypotheses(
        (hypotheses.totals.gather(1, rows) + step).masked_fill(~alive, NEVER),
        torch.cat([take(hypotheses.history), tokens[..., None]], -1),
        torch.cat([take(hypotheses.log_probs), step[..., None]], -1),
        None if hypotheses.covered is None else take(hypotheses.covered),
    )


def _finish(sentences: list[SentenceSearch], before: OpenHypotheses, now: OpenHypotheses, search: Search) -> Tensor:
    """Move the hypotheses that ended or reached the maximum length from `now` to the finished ones, and close groups
    that cannot improve. Return the totals of those that stay open."""
    length, width = now.log_probs.shape[-1], search.layout[1]
    ends, totals = now.history[:, :, -1].eq(EOS).tolist(), now.totals.tolist()
    closed = torch.zeros_like(now.totals, dtype=torch.bool)
    for b, sentence in enumerate(sentences):
        for g, places in enumerate(sentence.places):
            group = range(g * width, (g + 1) * width)
            for n in group:
                if totals[b][n] != NEVER and (ends[b][n] or length >= sentence.longest):
                    sentence.finished[g].append(_hypothesis(sentence, now, b, n, search))
                    sentence.places[g] -= 1
                    closed[b, n], totals[b][n] = True, NEVER
            best_open = max(totals[b][n] for n in group)
            if best_open == NEVER:
                if places and not sentence.finished[g]:  # no token was allowed
                    stuck = [n for n in group if before.totals[b, n] > NEVER]
                    sentence.finished[g] += [_hypothesis(sentence, before, b, n, search, _STUCK) for n in stuck]
                sentence.places[g] = 0
            elif not search.sample and _cannot_improve(best_open, length, sentence, g, search):
                sentence.places[g] = 0
    return now.totals.masked_fill(closed, NEVER)


def _hypothesis(
    sentence: SentenceSearch, hypotheses: OpenHypotheses, b: int, n: int, search: Search, stuck: str | None = None
) -> Hypothesis:
    """`stuck` is the reason why nothing could follow a hypothesis of the last step."""
    tokens, total = hypotheses.history[b, n, 1:].tolist(), hypotheses.totals[b, n].item()
    ended = tokens[-1:] == [EOS]
    unmet: tuple[str, ...] = ()
    if sentence.constrained is not None:
        states = sentence.constrained.states if stuck is None else sentence.constrained.before
        reason = stuck or f"not written within the maximum length of {sentence.longest} tokens"
        unmet = sentence.constrained.rules.unmet(states[n], reason)
    coverage = 0.0
    if hypotheses.covered is not None:
        coverage = float(hypotheses.covered[b, n].clamp(_LEAST_COVERED, 1.0).log().sum())
    return Hypothesis(
        tokens=tuple(tokens[:-1] if ended else tokens),
        token_log_probs=tuple(hypotheses.log_probs[b, n].tolist()),
        log_prob=total,
        score=search.score(total, max(1, len(tokens)), coverage),
        ended=ended,
        unmet=unmet,
    )


def _cannot_improve(best_open: float, length: int, sentence: SentenceSearch, group: int, search: Search) -> bool:
    """No open hypothesis of the group can still be among its best that ended."""
    wanted = math.ceil(search.n_best / search.groups)
    ended = sorted((h.score for h in sentence.finished[group] if h.ended), reverse=True)
    if len(ended) < wanted:
        return False
    return ended[wanted - 1] >= search.score_bound(best_open, length, sentence.shortest, sentence.longest)


def _rank(sentence: SentenceSearch, search: Search) -> list[Hypothesis]:
    """Best first. In a diverse beam the best of each group come first, and a hypothesis of two groups appears once."""

    def order(h: Hypothesis, rank: int = 0) -> tuple[int, bool, int, float]:
        return len(h.unmet), not h.ended, rank, -h.score

    if search.groups == 1:
        return sorted((h for group in sentence.finished for h in group), key=order)
    ranked = [(rank, h) for group in sentence.finished for rank, h in enumerate(sorted(group, key=order))]
    best = [h for _, h in sorted(ranked, key=lambda entry: order(entry[1], entry[0]))]
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for hypothesis in best:
        distinct.setdefault((hypothesis.tokens, hypothesis.ended), hypothesis)
    return list(distinct.values())
