"""One search over the contract, for every model: greedy, beam, diverse beam or sampling, with or without constraints.

A beam of K keeps K hypotheses of a sentence, as Sutskever 2014 and Bahdanau 2014 did: of all their continuations the
best are kept, one that ends gives up its place, and the search is over when no place is left, or when nothing that is
still open could beat what is finished. So a beam of 1 is greedy search, and a length penalty cannot stop it too early.

    log-probabilities → masks and constraints → scores → the choice      all in `choice`
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils import parametrize

from saccade.decode.constraints.choice import ConstrainedChoice
from saccade.decode.constraints.rules import Rules
from saccade.decode.search.coverage import SourceCoverage
from saccade.decode.search.expansion import Asking, Chooser, Chosen
from saccade.decode.search.options import Search
from saccade.decode.search.recording import Recorder
from saccade.models.contract import Seq2Seq, take_rows
from saccade.text.tokeniser import BOS, EOS

OnStep = Callable[[int, int], None]  # told after each step how many tokens are written, and the most there may be
_STUCK = "nothing that the other rules allow could follow"


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    tokens: tuple[int, ...]  # without start and end
    token_log_probs: tuple[float, ...]  # of each token, and of the end where it ended: the model's own
    log_prob: float
    score: float
    ended: bool  # False: cut off at the longest length, or where nothing may follow
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason


class OpenHypotheses(NamedTuple):
    """The open hypotheses, a row a sentence."""

    totals: Tensor  # (B, N) log-probability so far; −∞: no hypothesis
    history: Tensor  # (B, N, t + 1) from the start symbol on
    gained: Tensor  # (B, N, t) log-probability of each token
    covered: Tensor | None  # (B, N, S) attention that each source piece has had

    def followed(self, chosen: Chosen, log_probs: Tensor) -> "OpenHypotheses":
        rows, tokens, alive, _ = chosen
        step = log_probs.flatten(1).gather(1, rows * log_probs.shape[-1] + tokens)
        return OpenHypotheses(
            (self.totals.gather(1, rows) + step).masked_fill(~alive, float("-inf")),
            torch.cat([_of_rows(self.history, rows), tokens[..., None]], -1),
            torch.cat([_of_rows(self.gained, rows), step[..., None]], -1),
            None if self.covered is None else _of_rows(self.covered, rows),
        )


@dataclass
class _Sentence:
    """What is known of one sentence during a search."""

    index: int
    shortest: int
    longest: int
    places: list[int]  # of each group
    closed: list[list[Hypothesis]]  # in each group
    guide: ConstrainedChoice | None = None

    @property
    def asking(self) -> Asking:
        return Asking(self.index, self.shortest, self.places, self.guide)


def run_search(
    model: Seq2Seq[Any, Any],
    source: Tensor,  # (B, S)
    readable: Tensor,  # (B, S)
    how: Search | None = None,
    *,
    indices: Sequence[int] | None = None,  # of the sentences in the whole input, for the streams of samples
    rules: Sequence[Rules | None] | None = None,  # of each sentence
    recorder: Recorder | None = None,
    watch: OnStep | None = None,
) -> list[list[Hypothesis]]:
    """For each sentence its hypotheses, best first: those that ended, then those cut off."""
    how = how or Search()
    sentences = _sentences(readable.sum(1).tolist(), how, indices, rules)
    numbers = [sentence.index for sentence in sentences]
    if recorder is not None:
        recorder.begin(numbers, how.beam)
    with torch.inference_mode(), parametrize.cached():  # normalised weights are made once a search, not once a step
        _search(model, source, readable, how, sentences, recorder, watch)
    found = [_ranked(sentence, how) for sentence in sentences]
    if recorder is not None:
        recorder.finish(numbers, found)
    return found


def _sentences(
    lengths: list[int], how: Search, indices: Sequence[int] | None, rules: Sequence[Rules | None] | None
) -> list[_Sentence]:
    groups, width = how.layout
    found = []
    for length, index, rule in zip(
        lengths,
        range(len(lengths)) if indices is None else indices,
        [None] * len(lengths) if rules is None else rules,
        strict=True,
    ):
        shortest, longest = how.lengths(length, 0 if rule is None else int(rule.start.left))
        sentence = _Sentence(index, shortest, longest, [width] * groups, [[] for _ in range(groups)])
        sentence.guide = None if rule is None else ConstrainedChoice(rule, how.beam, longest)
        found.append(sentence)
    return found


def _search(
    model: Seq2Seq[Any, Any],
    source: Tensor,
    readable: Tensor,
    how: Search,
    open_: list[_Sentence],
    recorder: Recorder | None,
    watch: OnStep | None,
) -> None:
    (groups, width), device, count = how.layout, source.device, len(open_)
    choose, coverage = Chooser(how), SourceCoverage(model, how)
    fixed, moving = model.start(source, readable)
    moving = take_rows(moving, torch.arange(count, device=device).repeat_interleave(how.beam))
    totals = torch.full((count, groups, width), float("-inf"), device=device)
    totals[..., 0] = 0.0
    kept = OpenHypotheses(
        totals.flatten(1),
        torch.full((count, how.beam, 1), BOS, device=device),
        torch.zeros((count, how.beam, 0), device=device),
        coverage.begin(source, readable),
    )
    while open_:
        token = kept.history[:, :, -1].flatten()
        t = torch.full_like(token, kept.gained.shape[-1])
        logits, moving, covered = coverage.step(token, t, fixed, moving, kept.covered)
        log_probs = torch.unflatten(torch.log_softmax(logits.float(), -1), 0, (-1, how.beam))  # (B, N, V)
        chosen = choose(log_probs, kept.totals, kept.history[..., 1:], [one.asking for one in open_])
        before = kept._replace(covered=covered)
        kept = before.followed(chosen, log_probs)
        if recorder is not None:
            recorder.step([one.index for one in open_], chosen, before.totals, log_probs)
        if watch is not None:
            watch(kept.gained.shape[-1], max(one.longest for one in open_))
        kept = kept._replace(totals=_close(open_, before, kept, how, coverage))
        going = [b for b, sentence in enumerate(open_) if any(sentence.places)]
        stay = torch.tensor(going, device=device, dtype=torch.long)
        if len(going) < len(open_) or width > 1:
            offsets = torch.arange(len(open_), device=device)[:, None] * how.beam
            moving = take_rows(moving, (offsets + chosen.rows)[stay].flatten())
        if len(going) < len(open_):  # finished sentences leave the batch
            fixed, kept = take_rows((fixed, kept), stay)
            open_ = [open_[b] for b in going]


def _of_rows(kept: Tensor, rows: Tensor) -> Tensor:
    """(B, N, …) with the hypotheses of each sentence taken from `rows` (B, N)"""
    return kept.gather(1, rows[..., None].expand(-1, -1, kept.shape[-1]))


def _close(
    open_: list[_Sentence], before: OpenHypotheses, kept: OpenHypotheses, how: Search, coverage: SourceCoverage
) -> Tensor:
    """Take out the hypotheses that ended or are too long; a group with no place left, or that cannot win, is done."""
    length, width = kept.gained.shape[-1], how.layout[1]
    ends, values = kept.history[:, :, -1].eq(EOS).tolist(), kept.totals.tolist()
    closed = torch.zeros_like(kept.totals, dtype=torch.bool)
    for b, sentence in enumerate(open_):
        too_long = length >= sentence.longest
        for g, places in enumerate(sentence.places):
            group = range(g * width, (g + 1) * width)
            for n in group:
                if values[b][n] == float("-inf") or not (ends[b][n] or too_long):
                    continue
                sentence.closed[g].append(_hypothesis(sentence, kept, b, n, how, coverage))
                sentence.places[g] -= 1
                closed[b, n], values[b][n] = True, float("-inf")
            best_open = max(values[b][n] for n in group)
            if best_open == float("-inf"):
                if places and not sentence.closed[g]:  # nothing may follow what there was
                    there = [n for n in group if before.totals[b, n] > float("-inf")]
                    sentence.closed[g] += [_hypothesis(sentence, before, b, n, how, coverage, _STUCK) for n in there]
                sentence.places[g] = 0
            elif not how.sample and _cannot_win(best_open, length, sentence, g, how):
                sentence.places[g] = 0
    return kept.totals.masked_fill(closed, float("-inf"))


def _hypothesis(
    sentence: _Sentence,
    kept: OpenHypotheses,
    b: int,
    n: int,
    how: Search,
    coverage: SourceCoverage,
    why: str | None = None,
) -> Hypothesis:
    """`why`: nothing may follow it, and it is the best that there is."""
    tokens, total = kept.history[b, n, 1:].tolist(), kept.totals[b, n].item()
    ended = tokens[-1:] == [EOS]
    unmet: tuple[str, ...] = ()
    if sentence.guide is not None:
        states = sentence.guide.states if why is None else sentence.guide.before
        why = why or f"not written within the longest length, which is {sentence.longest} pieces"
        unmet = sentence.guide.rules.unmet(states[n], why)
    return Hypothesis(
        tokens=tuple(tokens[:-1] if ended else tokens),
        token_log_probs=tuple(kept.gained[b, n].tolist()),
        log_prob=total,
        score=how.score(total, max(1, len(tokens)), 0.0 if kept.covered is None else coverage.of(kept.covered[b, n])),
        ended=ended,
        unmet=unmet,
    )


def _cannot_win(best_open: float, length: int, sentence: _Sentence, group: int, how: Search) -> bool:
    """No open hypothesis of a group can still enter the best that ended of it."""
    wanted = math.ceil(how.n_best / how.groups)
    ended = sorted((h.score for h in sentence.closed[group] if h.ended), reverse=True)
    if len(ended) < wanted:
        return False
    return ended[wanted - 1] >= how.most(best_open, length, sentence.shortest, sentence.longest)


def _ranked(sentence: _Sentence, how: Search) -> list[Hypothesis]:
    """Best first. Of a diverse beam the best of each group come first, and what two groups found comes once."""

    def worth(h: Hypothesis) -> tuple[int, bool]:
        return len(h.unmet), not h.ended

    ranked = [
        (worth(h), rank if how.groups > 1 else 0, -h.score, h)
        for group in sentence.closed
        for rank, h in enumerate(sorted(group, key=lambda h: (worth(h), -h.score)))
    ]
    best = [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])]
    if how.groups == 1:
        return best
    once: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for hypothesis in best:
        once.setdefault((hypothesis.tokens, hypothesis.ended), hypothesis)  # where it stands first, it stands best
    return list(once.values())
