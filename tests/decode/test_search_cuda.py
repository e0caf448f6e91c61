"""On a GPU every mode finds the same as on the CPU, and by graphs the same as without them."""

from typing import Any

import pytest
import torch
from brute_force import Spelled, Watched
from search_models import TINY, batch, tiny
from test_search import same

from saccade.decode import Constraints, Ensemble, Recorder, Search, run_search
from saccade.decode.constraints.choice import Rules
from saccade.decode.options import DecodingPrecision
from saccade.decode.search.graphs import StepGraph, forget_graphs
from saccade.decode.search.loop import SearchLoop
from saccade.text import EOS

pytestmark = pytest.mark.gpu
SOURCES = [(4, 5, 6, EOS), (5, EOS), (6, 6, 4, 4, 5, EOS)]
SEARCHES = [
    Search(),
    Search(beam=4, n_best=2, no_repeat=2, repeats=1, shortest=2),
    Search(beam=6, groups=3, diversity=1.0),
    Search(beam=3, sample=True, top_k=4, top_p=0.9, min_p=0.01),
]


def test_every_mode_equals_the_cpu() -> None:
    for name in TINY:
        model = tiny(name, 5)
        searches = [*SEARCHES, *([Search(beam=3, coverage_penalty=0.3)] if model.cross else [])]
        for search in searches:
            expected = run_search(model.cpu(), *batch(*SOURCES), search)
            recorder = Recorder()
            hypotheses = run_search(model.cuda(), *(part.cuda() for part in batch(*SOURCES)), search, recorder=recorder)
            assert [[h.tokens for h in result] for result in hypotheses] == [
                [h.tokens for h in result] for result in expected
            ], name
            assert len(recorder.trees) == len(SOURCES)


def test_constraints_equal_the_cpu() -> None:
    required = [Constraints(include=("ab", "b a"), exclude=("aa",)), None, Constraints(outline="a … b …")]
    for reverse in (False, True):
        rules = [None if each is None else Rules(each, Spelled(reverse).token_bytes) for each in required]
        for search in SEARCHES:
            chain = Watched(3, 2.0, places=40)
            expected = run_search(chain, *batch(*SOURCES), search, rules=rules)
            chain.rows.clear()
            chain.logits, chain.looks = chain.logits.cuda(), chain.looks.cuda()
            hypotheses = run_search(chain, *(part.cuda() for part in batch(*SOURCES)), search, rules=rules)
            assert [[h.tokens for h in result] for result in hypotheses] == [
                [h.tokens for h in result] for result in expected
            ]


def test_an_ensemble_equals_the_cpu() -> None:
    pair = Ensemble([tiny("bahdanau2014", 1), tiny("vaswani2017", 2)])
    expected = run_search(pair, *batch(*SOURCES), SEARCHES[1])
    hypotheses = run_search(pair.cuda(), *(part.cuda() for part in batch(*SOURCES)), SEARCHES[1])
    assert [[h.tokens for h in result] for result in hypotheses] == [[h.tokens for h in result] for result in expected]
    assert torch.cuda.memory_allocated() > 0


LONG = [Search(), Search(beam=5, repeats=8, n_best=3, shortest=40, longest=60), Search(beam=4, groups=2, shortest=40)]


@pytest.mark.parametrize("name", TINY)
def test_graphs_equal_the_plain_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long enough for caches to grow and sentences to leave."""
    model, source = tiny(name, 5).cuda(), [part.cuda() for part in batch(*SOURCES * 3)]
    captures: list[bool] = []
    record = StepGraph._record

    def counted(graph: StepGraph[Any], state: Any) -> Any:
        recorded = record(graph, state)
        captures.append(recorded is not None)
        assert graph.failure is None
        return recorded

    monkeypatch.setattr(StepGraph, "_record", counted)
    found = [run_search(model, *source, search) for search in LONG]
    assert all(captures) and bool(captures) == (name != "vaswani2017, coverage of what was written")
    monkeypatch.setattr(SearchLoop, "_why_not_captured", lambda _: "asked for the plain path")
    for search, results in zip(LONG, found, strict=True):
        for graphed, plain in zip(results, run_search(model, *source, search), strict=True):
            same(graphed, plain)


@pytest.mark.parametrize("name", TINY)
def test_kernels_of_our_own_equal_those_of_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, source = tiny(name, 5).float().cuda(), [part.cuda() for part in batch(*SOURCES)]
    searches = [Search(precision="fp32"), Search(beam=4, n_best=2, repeats=2, precision="fp32", longest=40)]
    found = [run_search(model, *source, search) for search in searches]
    forget_graphs(torch.device("cuda"))
    monkeypatch.setattr("saccade.attention.fused.few_fit", lambda *_: False)
    monkeypatch.setattr("saccade.attention.cache.has_triton", lambda: False)
    monkeypatch.setattr("saccade.decode.search.loop.has_fast_log_sum_exp", lambda _: False)
    for search, results in zip(searches, found, strict=True):
        for (one, *_), (other, *_) in zip(results, run_search(model, *source, search), strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-3)
    forget_graphs(torch.device("cuda"))


def test_graphs_are_kept_for_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    model, search = tiny("vaswani2017", 5).cuda(), LONG[1]
    batches = [[part.cuda() for part in batch(*sources)] for sources in (SOURCES * 3, SOURCES[::-1] * 3)]
    monkeypatch.setattr(SearchLoop, "_why_not_captured", lambda _: "asked for the plain path")
    expected = [run_search(model, *source, search) for source in batches]
    monkeypatch.undo()
    run_search(model, *batches[0], search)
    monkeypatch.setattr(StepGraph, "_record", lambda *_: pytest.fail("a graph was captured again"))
    for source, results in zip(batches, expected, strict=True):
        for graphed, plain in zip(run_search(model, *source, search), results, strict=True):
            same(graphed, plain)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("name", TINY)
def test_half_precision_stays_near(name: str, precision: DecodingPrecision) -> None:
    model, source = tiny(name, 6).float().cuda(), [part.cuda() for part in batch(*SOURCES)]
    wide = run_search(model, *source, Search(beam=3))
    narrow = run_search(model, *source, Search(beam=3, precision=precision))
    assert all(weight.dtype == torch.float32 for weight in model.parameters())
    near = [abs(a[0].score - b[0].score) < 0.5 for a, b in zip(wide, narrow, strict=True)]
    assert sum(near) >= 2
