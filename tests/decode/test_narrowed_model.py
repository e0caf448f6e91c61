"""The laws of a shortlist: with all tokens, a search finds the same; with some, the same as if the others were
forbidden."""

from itertools import chain
from typing import Any

import pytest
import torch
from search_models import TINY, batch, tiny
from torch import Tensor

from saccade.decode import Ensemble, Hypothesis, Search, run_search
from saccade.decode.constraints.choice import NEVER
from saccade.decode.shortlist.narrowed_model import NarrowedModel, why_no_shortlist, why_whole_vocabulary
from saccade.decode.shortlist.tables import Candidates
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq, make_room

VOCABULARY = 24
SOURCE = batch((4, 9, 13, 5, 3), (11, 3), (8, 8, 20, 3))
SEARCHES = {
    "greedy": Search(longest=8),
    "beam": Search(beam=4, n_best=3, longest=8, repeats=2),
    "diverse": Search(beam=4, groups=2, longest=8, no_repeat=2),
}
# Beyond the source, aligned-rnn replaces the logits of its output layer; wu2019 mixes those of all places.
OTHERWISE = ["aligned-rnn", "wu2019"]
models = pytest.mark.parametrize("name", [name for name in TINY if name not in OTHERWISE])
searches = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


class Forbidding(Seq2Seq[Any, Any]):
    """A model in which some tokens of each sentence are impossible."""

    def __init__(self, model: Seq2Seq[Any, Any], allowed: Tensor) -> None:
        super().__init__(None, model.source_size, model.target_size)
        self.model, self.allowed = model, allowed  # (B, V)

    @property
    def cross(self) -> list[str]:
        return [f"model.{name}" for name in self.model.cross]

    def start(self, source: Tensor, readable: Tensor) -> Any:
        fixed, moving = self.model.start(source, readable)
        return (fixed, self.allowed), moving

    def for_hypotheses(self, moving: Any, count: int) -> Any:
        return self.model.for_hypotheses(moving, count)

    def step(self, token: Tensor, t: Tensor, fixed: Any, moving: Any) -> tuple[Tensor, Any]:
        logits, moving = self.model.step(token, t, fixed[0], moving)
        allowed = fixed[1].repeat_interleave(len(token) // len(fixed[1]), 0)
        return torch.where(allowed, logits, NEVER), moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        raise NotImplementedError


def every_token(sentences: int, *, shared: int) -> Candidates:
    """All tokens: the first are shared, and the others are each sentence's own, in any order."""
    generator = torch.Generator().manual_seed(5)
    orders = [torch.randperm(VOCABULARY - shared, generator=generator) + shared for _ in range(sentences)]
    return Candidates(torch.arange(shared), torch.stack(orders), torch.ones(sentences, VOCABULARY, dtype=torch.bool))


def some_tokens() -> Candidates:
    own = torch.tensor([[9, 12, 22, 10], [23, 11, 0, 0], [14, 15, 16, 0]])
    allowed = torch.cat([torch.ones(3, 7, dtype=torch.bool), own > 0], 1)
    return Candidates(torch.tensor([0, 1, 2, 3, 5, 6, 17]), own, allowed)


def as_mask(candidates: Candidates) -> Tensor:
    """(B, V)"""
    mask = torch.zeros(len(candidates.own), VOCABULARY, dtype=torch.bool)
    for row, ids, allowed in zip(mask, candidates.ids, candidates.allowed, strict=True):
        row[ids[allowed]] = True
    return mask


def shortlisted(search: Search) -> Search:
    return search.with_options(shortlist=True, beam=search.beam)


def same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[h.tokens for h in hypotheses] for hypotheses in found] == [[h.tokens for h in each] for each in expected]
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-5) and one.ended == other.ended
        assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


@models
@searches
def test_with_all_tokens_a_search_finds_the_same(name: str, search: Search) -> None:
    model = tiny(name, vocabulary=VOCABULARY)
    expected = run_search(model, *SOURCE, search)
    for shared in (VOCABULARY, 4, 10):
        candidates = every_token(3, shared=shared)
        same(run_search(model, *SOURCE, shortlisted(search), candidates=candidates), expected)


@models
@searches
def test_with_some_tokens_it_finds_what_it_would_if_the_others_were_forbidden(name: str, search: Search) -> None:
    model, candidates = tiny(name, vocabulary=VOCABULARY), some_tokens()
    found = run_search(model, *SOURCE, shortlisted(search), candidates=candidates)
    same(found, run_search(Forbidding(model, as_mask(candidates)), *SOURCE, search))
    for allowed, hypotheses in zip(as_mask(candidates), found, strict=True):
        assert all(allowed[list(h.tokens)].all() for h in hypotheses)
    assert model.target_size == VOCABULARY and run_search(model, *SOURCE, search)  # it stays as it is


@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017"])
def test_the_attention_of_a_coverage_penalty_is_the_models(name: str) -> None:
    model, candidates = tiny(name, vocabulary=VOCABULARY), some_tokens()
    search = Search(beam=3, longest=8, coverage_penalty=0.4)
    found = run_search(model, *SOURCE, shortlisted(search), candidates=candidates)
    same(found, run_search(Forbidding(model, as_mask(candidates)), *SOURCE, search))


@models
def test_forward_equals_repeated_steps(name: str) -> None:
    model, target = NarrowedModel(tiny(name, vocabulary=VOCABULARY), some_tokens()), torch.tensor([[2, 7, 4, 8]] * 3)
    with torch.inference_mode():
        (fixed, moving), steps = model.start(*SOURCE), []
        moving = model.for_hypotheses(moving, 1)
        for t, token in enumerate(target.T):
            moving = make_room(moving, t + 1)
            logits, moving = model.step(token, torch.full_like(token, t), fixed, moving)
            steps.append(logits)
        torch.testing.assert_close(torch.stack(steps, 1), model(*SOURCE, target), rtol=1e-9, atol=1e-9)


def test_a_search_in_half_precision_has_a_shortlist_too() -> None:
    model, candidates = tiny("vaswani2017", vocabulary=VOCABULARY).float(), some_tokens()
    found = run_search(model, *SOURCE, Search(precision="bf16", shortlist=True, longest=8), candidates=candidates)
    for allowed, hypotheses in zip(as_mask(candidates), found, strict=True):
        assert all(allowed[list(h.tokens)].all() for h in hypotheses)


def test_reasons_are_given() -> None:
    assert [name for name in TINY if why_no_shortlist(tiny(name)) is not None] == OTHERWISE
    reason = why_no_shortlist(Ensemble([tiny("cho2014"), tiny("vaswani2017")]))
    assert reason == "the logits of Ensemble are not those of one output layer"
    plain, rules = Search(), {"constrained": False, "recorded": False}
    assert why_whole_vocabulary(plain, **rules) is None
    assert why_whole_vocabulary(Search(sample=True), **rules) is not None
    assert all(why_whole_vocabulary(plain, **{**rules, rule: True}) is not None for rule in rules)


def test_a_search_needs_candidates_exactly_if_it_has_a_shortlist() -> None:
    for search, candidates in ((Search(shortlist=True), None), (Search(), some_tokens())):
        with pytest.raises(UserError, match="needs candidates"):
            run_search(tiny("cho2014", vocabulary=VOCABULARY), *SOURCE, search, candidates=candidates)
