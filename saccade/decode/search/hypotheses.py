"""The hypotheses of a search: open ones, which can still grow, and finished ones. Everything is on the device, with one
row per sentence, and nothing is read back before a sentence leaves the search.

The text of a hypothesis is not stored in one place: each step stores its tokens and which hypotheses they continue, and
a finished hypothesis is traced back from its last token.
"""

import gc
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.decode.constraints.choice import NEVER, ConstrainedChoice
from saccade.decode.options import Search
from saccade.decode.search.expansion import Expansion, Prediction
from saccade.decode.search.masks import Recent
from saccade.text import BOS, EOS

_NOTHING_ALLOWED = "no token that the other rules allow could follow"
Ints = NDArray[np.int64]

_OPEN, _ENDED, _CUT, _STUCK = range(4)  # fates; one that is stuck has no new token
_LEAST_COVERED = 1e-9  # sparse attention may never read a token; log 0 would outweigh everything


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A finished hypothesis."""

    tokens: tuple[int, ...]  # without start and end
    token_log_probs: Sequence[float]  # of each token, and of the end symbol if it ended; unchanged by any mask
    log_prob: float
    score: float
    ended: bool  # False: cut off at the maximum length, or because no token was allowed
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason


@dataclass
class SentenceSearch:
    """One sentence of a search."""

    index: int  # its number in the whole input
    shortest: int
    longest: int
    random: torch.Generator  # of its samples, which depend on the seed and on its index alone
    constrained: ConstrainedChoice | None
    results: list[Hypothesis] = field(default_factory=list)  # best first


# A row of a batch that is no sentence, or not any more: its search is over.
FILLER = SentenceSearch(-1, 0, 0, torch.Generator(), None)


class Written(NamedTuple):
    """What each step wrote: (B, steps, N)."""

    tokens: Tensor
    rows: Tensor  # the hypotheses of the step before that they continue
    log_probs: Tensor  # of the tokens
    fates: Tensor  # what became of the hypothesis in this step
    scores: Tensor  # if it finished


class Hypotheses(NamedTuple):
    """The state of a search, except for the model's."""

    last: Tensor  # (B, N) the last token
    totals: Tensor  # (B, N) log-probability so far; −∞ if there is no hypothesis
    recent: Recent | None
    covered: Tensor | None  # (B, N, S) attention that each source token has received; None without a coverage penalty
    places: Tensor  # (B, G) how many hypotheses of each group may still be open
    best: Tensor  # (B, G, ·) the scores of each group's best hypotheses that ended, as many as are wanted
    written: Written
    shortest: Tensor  # (B,)
    longest: Tensor  # (B,)


def start_hypotheses(
    source: Tensor, readable: Tensor, sentences: Sequence[SentenceSearch], search: Search, steps: int
) -> Hypotheses:
    """One hypothesis per group, of the start symbol alone, with room for `steps` tokens."""
    (groups, width), count, device = search.layout, len(sentences), source.device
    is_sentence = torch.tensor([sentence is not FILLER for sentence in sentences], dtype=torch.bool, device=device)
    totals = torch.full((count, groups, width), NEVER, device=device)
    totals[..., 0].masked_fill_(is_sentence[:, None], 0.0)
    covered = None
    if search.coverage_penalty > 0:  # padding and the end symbol count as covered
        covered = (~readable | (source == EOS)).float()[:, None].repeat(1, search.beam, 1)
    tokens = torch.zeros((count, steps, search.beam), dtype=torch.long, device=device)
    zeros = torch.zeros_like(tokens, dtype=torch.float32)
    limits = [sentence.shortest for sentence in sentences], [sentence.longest for sentence in sentences]
    shortest, longest = (torch.tensor(each, dtype=torch.long, device=device) for each in limits)
    return Hypotheses(
        last=torch.full((count, search.beam), BOS, device=device),
        totals=totals.flatten(1),
        recent=Recent.start(count, search, steps, device),
        covered=covered,
        places=(width * is_sentence)[:, None].repeat(1, groups),
        best=torch.full((count, groups, _wanted(search)), NEVER, dtype=torch.float64, device=device),
        written=Written(tokens, tokens.clone(), zeros, tokens.clone(), zeros.double()),
        shortest=shortest,
        longest=longest,
    )


def _wanted(search: Search) -> int:
    """How many hypotheses of each group a search returns."""
    return math.ceil(search.n_best / search.groups)


class Scorer:
    """`Search.score` on the device: in float64, with a table of norms, so that every decision is the same."""

    def __init__(self, search: Search, longest: int, device: torch.device) -> None:
        self._search = search
        norms = [search.norm(max(1, length)) for length in range(longest + 2)]
        self._norms = torch.tensor(norms, dtype=torch.float64, device=device)

    def score(self, totals: Tensor, lengths: Tensor, covered: Tensor | None = None) -> Tensor:
        scores = totals.double() / self._norms[lengths]
        if covered is None:
            return scores
        coverage = covered.clamp(_LEAST_COVERED, 1.0).log().sum(-1)
        return scores + self._search.coverage_penalty * coverage.double()

    def bound(self, totals: Tensor, lengths: Tensor, shortest: Tensor, longest: Tensor) -> Tensor:
        """`Search.score_bound`"""
        ends = (torch.maximum(lengths, shortest) + 1, longest)
        first, last = (self.score(totals, end) for end in ends)
        return torch.maximum(first, last)


def follow(hypotheses: Hypotheses, expansion: Expansion, predicted: Prediction, written: Tensor) -> Hypotheses:
    """The hypotheses with the chosen tokens; `written` (1,) tokens were there before."""
    rows, tokens, alive = expansion
    steps = predicted.log_probs_of(rows, tokens)
    for store, values in zip(hypotheses.written, (tokens, rows, steps), strict=False):
        store.index_copy_(1, written, values[:, None])
    covered = hypotheses.covered
    return hypotheses._replace(
        last=tokens,
        totals=(hypotheses.totals.gather(1, rows) + steps).masked_fill(~alive, NEVER),
        recent=None if hypotheses.recent is None else hypotheses.recent.follow(rows, tokens),
        covered=None if covered is None else covered.gather(1, rows[..., None].expand(-1, -1, covered.shape[-1])),
    )


def finish(before: Hypotheses, now: Hypotheses, written: Tensor, search: Search, scorer: Scorer) -> Hypotheses:
    """Note the hypotheses that ended or reached the maximum length, and close groups that cannot improve. `before` had
    `written` (1,) tokens."""
    width = search.layout[1]
    length = written + 1
    ends = now.last == EOS
    closes = (now.totals > NEVER) & (ends | (length >= now.longest)[:, None])
    totals = now.totals.masked_fill(closes, NEVER)
    places = now.places - _by_group(closes, search).sum(-1)
    best_open = _by_group(totals, search).amax(-1)  # (B, G)
    is_over = best_open == NEVER
    # Without a finished hypothesis, all places are left: no token was allowed.
    is_stuck = (is_over & (places == width)).repeat_interleave(width, 1) & (before.totals > NEVER)
    scores = torch.where(
        is_stuck, scorer.score(before.totals, written, before.covered), scorer.score(now.totals, length, now.covered)
    )
    fates = torch.where(is_stuck, _STUCK, torch.where(ends, _ENDED, _CUT) * closes)
    for store, values in ((now.written.fates, fates), (now.written.scores, scores)):
        store.index_copy_(1, written, values[:, None])
    best = now.best
    if not search.sample:
        ended = _by_group(scores.masked_fill(~(closes & ends), NEVER), search)
        best = torch.cat([best, ended], -1).topk(best.shape[-1], -1).values
        bound = scorer.bound(best_open, length, now.shortest[:, None], now.longest[:, None])
        is_over = is_over | (best[..., -1] >= bound)
    return now._replace(
        totals=totals.masked_fill(is_over.repeat_interleave(width, 1), NEVER),
        places=places.masked_fill(is_over, 0),
        best=best,
    )


def _by_group(values: Tensor, search: Search) -> Tensor:
    """(B, N) → (B, G, K)"""
    return torch.unflatten(values, 1, search.layout)


def collect(
    written: Written, sentences: Sequence[SentenceSearch], search: Search, length: int, most: int | None
) -> None:
    """Read the results of sentences that are finished from the device, after `length` steps: at most the `most` best of
    each, or all."""
    steps = _on_host(Written._make(part[:, :length] for part in written))
    b, step, n = np.nonzero(steps.fates)  # (F,) for every finished hypothesis
    fates, scores = steps.fates[b, step, n], steps.scores[b, step, n]
    if most is not None and search.groups == 1 and all(sentence.constrained is None for sentence in sentences):
        best = _find_best_of_each(b, fates, scores, most)
        b, step, n, fates, scores = (column[best] for column in (b, step, n, fates, scores))
    lengths = step + (fates != _STUCK)
    tokens, log_probs = _trace_back(steps, b, n, lengths)
    totals = log_probs.cumsum(1, dtype=np.float32)[:, -1]  # in the order in which the search added them
    found: list[list[list[Hypothesis]]] = [[[] for _ in range(search.layout[0])] for _ in sentences]
    columns = (b, n, lengths, fates, scores, totals, tokens, log_probs)
    with without_garbage_collection():
        for place, row, size, fate, score, total, ids, parts in zip(*(c.tolist() for c in columns), strict=True):
            found[place][row // search.layout[1]].append(
                Hypothesis(
                    tokens=tuple(ids[: size - (fate == _ENDED)]),
                    token_log_probs=tuple(parts[:size]),
                    log_prob=total,
                    score=score,
                    ended=fate == _ENDED,
                    unmet=_unmet(sentences[place], size, row, is_stuck=fate == _STUCK),
                )
            )
        for sentence, groups in zip(sentences, found, strict=True):
            sentence.results = _rank(groups, search)[:most]


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Python looks for garbage whenever it has made many objects, here tens of thousands without any: that takes a
    tenth of a second, as it goes through all objects of the process."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _on_host(written: Written) -> Any:
    """The same as arrays, by one copy from the device."""
    narrow = written._replace(tokens=written.tokens.int(), rows=written.rows.int(), fates=written.fates.byte())
    parts = [part.contiguous().view(torch.uint8).flatten() for part in narrow]
    flat = np.split(torch.cat(parts).cpu().numpy(), np.cumsum([part.numel() for part in parts])[:-1])
    types = (np.int32, np.int32, np.float32, np.uint8, np.float64)
    return Written._make(part.view(kind).reshape(written.tokens.shape) for part, kind in zip(flat, types, strict=True))


def _find_best_of_each(sentence: Ints, fates: Ints, scores: NDArray[np.float64], most: int) -> Ints:
    """The places of the `most` best hypotheses of each sentence, in the order of `_rank`."""
    order = np.lexsort((-scores, 2 * sentence + (fates != _ENDED)))
    sorted_ = sentence[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_, sorted_)
    return order[rank < most]


def _trace_back(steps: Any, sentence: Ints, row: Ints, lengths: Ints) -> tuple[Ints, NDArray[np.float32]]:
    """The tokens of hypotheses (F,) and their log-probabilities (F, longest), from the last step of each to the first;
    0 beyond its length."""
    longest, (_, slots, width) = int(lengths.max(initial=0)), steps.tokens.shape
    shape = max(1, longest), len(sentence)
    tokens, log_probs = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    of_token, of_log_prob, of_row = (part.reshape(-1) for part in (steps.tokens, steps.log_probs, steps.rows))
    for place in reversed(range(longest)):
        exists, at = place < lengths, (sentence * slots + place) * width + row
        tokens[place] = np.where(exists, of_token[at], 0)
        log_probs[place] = np.where(exists, of_log_prob[at], 0.0)
        row = np.where(exists, of_row[at], row)
    return tokens.T.copy(), log_probs.T.copy()


def _unmet(sentence: SentenceSearch, length: int, row: int, *, is_stuck: bool) -> tuple[str, ...]:
    if sentence.constrained is None:
        return ()
    reason = _NOTHING_ALLOWED if is_stuck else f"not written within the maximum length of {sentence.longest} tokens"
    return sentence.constrained.rules.unmet(sentence.constrained.state_at(length, row), reason)


def _rank(found: Sequence[Sequence[Hypothesis]], search: Search) -> list[Hypothesis]:
    """Best first. In a diverse beam the best of each group come first, and a hypothesis of two groups appears once."""

    def order(h: Hypothesis, rank: int = 0) -> tuple[int, bool, int, float]:
        return len(h.unmet), not h.ended, rank, -h.score

    if search.groups == 1:
        return sorted((h for group in found for h in group), key=order)
    ranked = [(rank, h) for group in found for rank, h in enumerate(sorted(group, key=order))]
    best = [h for _, h in sorted(ranked, key=lambda entry: order(entry[1], entry[0]))]
    distinct: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
    for hypothesis in best:
        distinct.setdefault((hypothesis.tokens, hypothesis.ended), hypothesis)
    return list(distinct.values())
