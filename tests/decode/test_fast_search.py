"""The fast paths of a search find what its plain paths find, for every model."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from search_models import TINY, batch, random_chain, tiny
from test_search import SEARCHES, SOURCES, same

from saccade.decode import Ensemble, Search, run_search
from saccade.decode.search import loop
from saccade.decode.search.graphs import StepGraph, overwrite
from saccade.decode.search.hypotheses import Scorer
from saccade.decode.search.loop import SearchLoop
from saccade.models import Seq2Seq
from saccade.models.capturing import _RefusesHostTensors
from saccade.models.contract import list_tensors, map_tensors

models = pytest.mark.parametrize("name", TINY)
BEAM = Search(beam=4, n_best=2, repeats=2, no_repeat=3, shortest=2, longest=20)
Model = Seq2Seq[Any, Any]


class Replay:
    """What a CUDA graph does: the same step on the same tensors, again and again."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.replay = step


def capture_on_cpu(graph: StepGraph[Any], state: Any) -> bool:
    captured.append(len(list_tensors(state)))
    step = graph._step
    graph._graph = Replay(lambda: overwrite(list_tensors(state), list_tensors(step(state))))  # type: ignore[assignment]
    return True


captured: list[int] = []


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Searches by graphs, as on a GPU; returns one number per graph."""
    monkeypatch.setattr(StepGraph, "_capture", capture_on_cpu)
    monkeypatch.setattr(SearchLoop, "_why_not_captured", lambda _: None)
    monkeypatch.setattr(loop, "_FEWEST_STEPS", 2)
    captured.clear()
    return captured


@models
def test_a_shared_cache_equals_plain_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny(name, 3)
    expected = run_search(model, *batch(*SOURCES), BEAM)
    monkeypatch.setattr(type(model), "for_hypotheses", Seq2Seq.for_hypotheses)
    for one, other in zip(run_search(model, *batch(*SOURCES), BEAM), expected, strict=True):
        same(one, other)


@models
def test_steps_on_the_same_tensors_equal_plain_steps(name: str, request: pytest.FixtureRequest) -> None:
    model = tiny(name, 4)
    searches = [Search(longest=20), BEAM, Search(beam=6, groups=3, longest=9)]
    expected = [run_search(model, *batch(*SOURCES), search) for search in searches]
    replayed = request.getfixturevalue("replayed")
    for search, results in zip(searches, expected, strict=True):
        for one, other in zip(run_search(model, *batch(*SOURCES), search), results, strict=True):
            same(one, other)
    assert bool(replayed) == (name != "vaswani2017, coverage of what was written")  # whose history grows


def test_an_ensemble_shares_its_caches(request: pytest.FixtureRequest) -> None:
    pair = Ensemble([tiny("bahdanau2014", 1), tiny("vaswani2017", 2)])
    expected = run_search(pair, *batch(*SOURCES), BEAM)
    assert request.getfixturevalue("replayed") == []
    for one, other in zip(run_search(pair, *batch(*SOURCES), BEAM), expected, strict=True):
        same(one, other)
    assert captured


@pytest.mark.parametrize("name", [*TINY, "an ensemble"])
def test_a_step_needs_nothing_from_the_device(name: str) -> None:
    """Whatever needs a number of a tensor fails on the meta device, whose tensors have none."""
    search = Search(beam=4, groups=2, repeats=2, no_repeat=2, shortest=2, longest=9)
    model = Ensemble([tiny("cho2014"), tiny("vaswani2017")]) if name == "an ensemble" else tiny(name)
    steps = SearchLoop(model, search.with_options(coverage_penalty=0.2 * bool(model.cross)), None, None)
    steps._sentences = [loop._start_sentence(len(row), search, i, None) for i, row in enumerate(SOURCES)]
    with torch.inference_mode():
        state = map_tensors(lambda tensor: torch.empty_like(tensor, device="meta"), steps._start(*batch(*SOURCES)))
        steps._model, steps._scorer = model.to("meta"), Scorer(search, 9, torch.device("meta"))
        with _RefusesHostTensors():
            state = steps.step(steps.step(state))
    assert state.hypotheses.totals.shape == (len(SOURCES), 4)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_results_do_not_depend_on_when_sentences_leave(
    search: Search, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at the end, or each one at once."""
    chain, source = random_chain(31), batch((4, 4), (5,), (6, 6, 6), (4,), (6,))
    expected = run_search(chain, *source, search)
    let_leave = SearchLoop._let_leave
    monkeypatch.setattr(SearchLoop, "_let_leave", lambda self, state, _: let_leave(self, state, share))
    chain.rows.clear()
    assert run_search(chain, *source, search) == expected
