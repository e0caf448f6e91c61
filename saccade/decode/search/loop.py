"""One search for every model: greedy, beam, diverse beam or sampling, with or without constraints.

A beam of K keeps K hypotheses per sentence (Sutskever 2014, Bahdanau 2014). At each step the best of all their
continuations are kept. A hypothesis that ends gives up its place. The search of a sentence is over when no place is
left, or when no open hypothesis could still beat the finished ones. So a beam of 1 is greedy search, and a length
penalty cannot stop the search too early.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import parametrize

from saccade.align.attention import NO_ATTENTION
from saccade.decode.constraints.choice import NEVER, ConstrainedChoice, Rules
from saccade.decode.options import Search
from saccade.decode.precision import choose_precision, in_precision
from saccade.decode.search.expansion import HostParts, Prediction, choose, score
from saccade.decode.search.graphs import StepGraph, name_owner
from saccade.decode.search.hypotheses import (
    FILLER,
    Hypotheses,
    Hypothesis,
    Scorer,
    SentenceSearch,
    collect,
    finish,
    follow,
    start_hypotheses,
)
from saccade.decode.search.recording import Recorder
from saccade.decode.search.shapes import fill_up, round_steps
from saccade.decode.shortlist.narrowed_model import NarrowedModel
from saccade.decode.shortlist.tables import Candidates
from saccade.device import keep_freed_memory, without_cudnn_attention
from saccade.errors import UserError
from saccade.layers.log_sum_exp import has_fast_log_sum_exp, log_sum_exp
from saccade.models.capturing import is_built_in
from saccade.models.contract import Seq2Seq, follow_hypotheses, keep_sentences, make_room, take_rows
from saccade.text import BOS, PAD

_FEWEST_STEPS = 32  # of a cache that graphs read
# Finished sentences leave when at most this share is left: every departure copies the others, and needs new graphs.
_LEFT, _LEFT_WITH_GRAPHS = 0.9, 0.5

OnStep = Callable[[int, int], None]  # called after each step with the number of tokens written, and the maximum


class SearchState(NamedTuple):
    """All that changes during a search, and the model's memory of the source."""

    written: Tensor  # (1,) the number of tokens so far
    fixed: Any
    moving: Any
    hypotheses: Hypotheses


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
    candidates: Candidates | None = None,  # the only tokens to score, if `search.shortlist`
    most: int | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, best first: those that ended, then those that were cut off. All that were found,
    or only the `most` best, which takes less time."""
    search = search or Search()
    if search.shortlist != (candidates is not None):
        raise UserError("a search with a shortlist needs candidates, and no other search does; use a Translator")
    if search.coverage_penalty > 0 and not model.cross:
        raise UserError(f"a coverage penalty needs attention weights, but {NO_ATTENTION}")
    indices, rules = indices or range(len(source)), rules or [None] * len(source)
    sentences = [
        _start_sentence(length, search, index, rule)
        for length, index, rule in zip(readable.sum(1).tolist(), indices, rules, strict=True)
    ]
    if recorder is not None:
        recorder.begin(indices, search.beam)
    converted = in_precision(model, choose_precision(search.precision, source.device))
    # Normalised weights are computed once per search.
    with torch.inference_mode(), parametrize.cached(), without_cudnn_attention():
        searched = converted if candidates is None else NarrowedModel(converted, candidates.to(source.device))
        loop = SearchLoop(searched, search, recorder, on_step, None if recorder is not None else most)
        results = loop.run(source, readable, sentences)
    if converted is not model and any(map(_is_stuck, sentences, results)):  # by numbers beyond the range of fp16
        wide = replace(search, precision="fp32")
        return run_search(
            model,
            source,
            readable,
            wide,
            indices=indices,
            rules=rules,
            recorder=recorder,
            on_step=on_step,
            candidates=candidates,
            most=most,
        )
    results = results if candidates is None else candidates.restore(results)
    if recorder is not None:
        recorder.finish(indices, results)
    return results


class SearchLoop:
    def __init__(
        self,
        model: Seq2Seq[Any, Any],
        search: Search,
        recorder: Recorder | None,
        on_step: OnStep | None,
        most: int | None = None,
    ) -> None:
        self._model, self._search, self._recorder, self._on_step, self._most = model, search, recorder, on_step, most

    def run(self, source: Tensor, readable: Tensor, sentences: list[SentenceSearch]) -> list[list[Hypothesis]]:
        """Extend all hypotheses by one token at a time, until every sentence has finished."""
        keep_freed_memory()
        self._sentences, self._device = sentences, source.device
        longest = steps = max((sentence.longest for sentence in sentences), default=0)
        has_graphs = self._why_not_captured() is None and len(sentences) > 0
        if has_graphs:
            source, readable = fill_up(source, readable)
            self._sentences = sentences + [FILLER] * (len(source) - len(sentences))
            steps = round_steps(longest)
        self._scorer = Scorer(self._search, steps, source.device)
        step = StepGraph(self.step, self._name_owner(), reads=self._scorer) if has_graphs else self.step
        state, length, room, going = self._start(source, readable, steps), 0, 0, GoingSentences(source.device)
        while self._sentences:
            if length == room:  # a cache that doubles has few shapes, each of which needs a graph
                room = max(_FEWEST_STEPS, 2 * room) if has_graphs else length + 1
                state = state._replace(moving=make_room(state.moving, room))
            state = step(state)
            length += 1
            if self._on_step is not None:
                self._on_step(length, max(sentence.longest for sentence in self._sentences))
            left = 0 if length == longest else going.count(state.hypotheses.places)
            if left <= (_LEFT_WITH_GRAPHS if has_graphs else _LEFT) * len(self._sentences):
                state = self._let_leave(state, length, in_halves=has_graphs)
        if isinstance(step, StepGraph):
            step.keep()
        return [sentence.results for sentence in sentences]

    def _name_owner(self) -> Hashable | None:
        """What a graph depends on; None if it reads weights that are normalised or converted for this search."""
        are_normalised = any(isinstance(module, parametrize.ParametrizationList) for module in self._model.modules())
        if are_normalised or torch.is_autocast_enabled(self._device.type):
            return None
        return name_owner(self._model, self._search)

    def _start(self, source: Tensor, readable: Tensor, steps: int) -> SearchState:
        fixed, moving = self._model.start(source, readable)
        moving = self._model.for_hypotheses(moving, self._search.beam)
        hypotheses = start_hypotheses(source, readable, self._sentences, self._search, steps)
        return SearchState(torch.zeros(1, dtype=torch.long, device=source.device), fixed, moving, hypotheses)

    def step(self, state: SearchState) -> SearchState:
        """One more token of every hypothesis. Without host parts and a recorder, nothing is read from the device."""
        search, host = self._search, self._host_parts()
        written, fixed, moving, hypotheses = state
        predicted, moving, hypotheses = self._predict(written, fixed, moving, hypotheses)
        scores = score(predicted, hypotheses.totals, hypotheses.recent, hypotheses.shortest, written, search, host)
        expansion = choose(scores, hypotheses.places, written, search, host.choices)
        if self._recorder is not None:
            indices = [sentence.index for sentence in self._sentences]
            self._recorder.step(indices, expansion, scores, hypotheses.totals, predicted.scores)
        now = follow(hypotheses, expansion, predicted, written)
        now = finish(hypotheses, now, written, search, self._scorer)
        if search.layout[1] > 1:
            moving = follow_hypotheses(moving, expansion.rows, written)
        return SearchState(written + 1, fixed, moving, now)

    def _predict(
        self, written: Tensor, fixed: Any, moving: Any, hypotheses: Hypotheses
    ) -> tuple[Prediction, Any, Hypotheses]:
        """The log-probabilities of every token, the new Moving, and what has been read."""
        token = hypotheses.last.flatten()  # (B·N,)
        covered = hypotheses.covered
        with nullcontext() if covered is None else self._model.trace() as trace:
            logits, moving = self._model.step(token, written.expand_as(token), fixed, moving)
        if covered is not None and trace is not None:
            reads = torch.stack([trace[site].float().mean((1, 2)) for site in self._model.cross]).mean(0)  # (B·N, S)
            hypotheses = hypotheses._replace(covered=covered + reads.view_as(covered))
        norms = None
        if self._are_norms_apart(logits):
            norms = log_sum_exp(logits).view_as(hypotheses.totals)
        else:
            logits = torch.log_softmax(logits, -1, dtype=torch.float32)
        logits[:, PAD] = logits[:, BOS] = NEVER
        return Prediction(logits.view(*hypotheses.totals.shape, -1), norms), moving, hypotheses

    def _are_norms_apart(self, logits: Tensor) -> bool:
        """Whether tokens are chosen among the logits, which a norm orders in no other way, instead of storing all
        log-probabilities. A recorder, constraints, samples and groups that compete need these."""
        if not has_fast_log_sum_exp(logits) or self._recorder is not None:
            return False
        return not self._search.sample and self._search.groups == 1 and not self._host_parts().choices

    def _host_parts(self) -> HostParts:
        choices = {b: s.constrained for b, s in enumerate(self._sentences) if s.constrained is not None}
        return HostParts(choices, [s.random for s in self._sentences] if self._search.sample else [])

    def _why_not_captured(self) -> str | None:
        """Why the steps are not run by CUDA graphs, or None if they are."""
        if self._device.type != "cuda":
            return f"graphs are for CUDA, and the model is on {self._device.type}"
        if self._recorder is not None:
            return "the search tree is recorded at every step"
        if any(sentence.constrained is not None for sentence in self._sentences):
            return "constraints are checked by the host at every step"
        return why_not_graphs(self._model, self._search)

    def _let_leave(self, state: SearchState, length: int, *, in_halves: bool) -> SearchState:
        """Take the results of finished sentences after `length` steps, and go on without them. A batch that is halved
        has few shapes; finished sentences fill it up."""
        is_going = state.hypotheses.places.any(1).tolist()
        gone = [b for b, goes in enumerate(is_going) if not goes]
        leaving = [b for b in gone if self._sentences[b] is not FILLER]
        if leaving:
            written = take_rows(state.hypotheses.written, torch.tensor(leaving, device=self._device))
            collect(written, [self._sentences[b] for b in leaving], self._search, length, self._most)
        stay = [b for b, goes in enumerate(is_going) if goes]
        if not stay:
            self._sentences = []
            return state
        going, rows = len(stay), len(is_going)
        while in_halves and going <= -(-rows // 2) < rows:
            rows = -(-rows // 2)
        stay += gone[: rows - going] if in_halves else []
        self._sentences = [self._sentences[b] if is_going[b] else FILLER for b in stay]
        kept = torch.tensor(stay, device=self._device)
        fixed, hypotheses = take_rows((state.fixed, state.hypotheses), kept)
        return SearchState(state.written, fixed, keep_sentences(state.moving, kept, self._search.beam), hypotheses)


class GoingSentences:
    """How many sentences are not finished. The host never waits for a step of a GPU that it has just submitted: the
    number is that of the step before."""

    def __init__(self, device: torch.device) -> None:
        self._is_late = device.type == "cuda"
        self._count = torch.zeros((), dtype=torch.long, pin_memory=self._is_late)
        self._copied: torch.cuda.Event | None = None

    def count(self, places: Tensor) -> float:
        going = places.any(1).sum()
        if not self._is_late:
            return int(going)
        before = float("inf")
        if self._copied is not None:
            self._copied.synchronize()
            before = int(self._count)
        self._count.copy_(going, non_blocking=True)
        self._copied = torch.cuda.Event()
        self._copied.record()
        return before


def why_not_graphs(model: Seq2Seq[Any, Any], search: Search) -> str | None:
    """Why a search of this model on a GPU does not run by CUDA graphs, or None if it does."""
    if search.sample:
        return "samples are drawn on the CPU, so that they do not depend on the device"
    if search.shortlist:
        return "a shortlist has other tokens in every batch"
    if not is_built_in(model):
        return "the model is not one of this package, and may need numbers from the device at every step"
    return model.why_state_grows()


def _is_stuck(sentence: SentenceSearch, found: Sequence[Hypothesis]) -> bool:
    """No token could follow the best hypothesis, although it is shorter than it may be."""
    return not found or (not found[0].ended and len(found[0].tokens) < sentence.longest)


def _start_sentence(length: int, search: Search, index: int, rules: Rules | None) -> SentenceSearch:
    shortest, longest = search.length_limits(length, 0 if rules is None else int(rules.start.left))
    constrained = None if rules is None else ConstrainedChoice(rules, search.beam, longest)
    random = torch.Generator()
    if search.sample:
        random.manual_seed(*np.random.SeedSequence((search.seed, index)).generate_state(1, np.uint64).tolist())
    return SentenceSearch(index, shortest, longest, random, constrained)
