"""The fast paths of a search find what its plain paths find, for every model."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from search_models import TINY, batch, random_chain, tiny
from test_search import SEARCHES, SOURCES, same

from saccade.decode import Ensemble, Search, run_search
from saccade.decode.search import graphs, loop, shapes
from saccade.decode.search.graphs import StepGraph, overwrite
from saccade.decode.search.hypotheses import Scorer
from saccade.decode.search.loop import SearchLoop
from saccade.device import release_unused
from saccade.models import Seq2Seq
from saccade.models.capturing import _RefusesHostTensors
from saccade.models.contract import list_tensors, map_tensors
from saccade.text import EOS

models = pytest.mark.parametrize("name", TINY)
BEAM = Search(beam=4, n_best=2, repeats=2, no_repeat=3, shortest=2, longest=20)
Model = Seq2Seq[Any, Any]


class Replay:
    """What a CUDA graph does: the same step on the same tensors, again and again."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.replay = step


def record_on_cpu(graph: StepGraph[Any], state: Any) -> Replay:
    captured.append(len(list_tensors(state)))
    step = graph._step
    return Replay(lambda: overwrite(list_tensors(state), list_tensors(step(state))))


captured: list[int] = []


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Searches by graphs, as on a GPU; returns one number per graph."""
    monkeypatch.setattr(StepGraph, "_record", record_on_cpu)
    monkeypatch.setattr(graphs, "_most_bytes", lambda _: 1 << 30)
    monkeypatch.setattr(SearchLoop, "_why_not_captured", lambda _: None)
    monkeypatch.setattr(loop, "_FEWEST_STEPS", 2)
    captured.clear()
    yield captured
    graphs.forget_graphs(torch.device("cpu"))


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
        state = map_tensors(lambda tensor: torch.empty_like(tensor, device="meta"), steps._start(*batch(*SOURCES), 9))
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
    monkeypatch.setattr(loop, "_LEFT", share)
    chain.rows.clear()
    assert run_search(chain, *source, search) == expected


OTHERS = [(5, 5, EOS), (6, 4, 6, 4, EOS), (EOS,), (4, 6, EOS)]


@models
def test_the_next_batch_of_the_same_shape_needs_no_new_graphs(name: str, request: pytest.FixtureRequest) -> None:
    model = tiny(name, 4)
    expected = [run_search(model, *batch(*sources), BEAM) for sources in (SOURCES, OTHERS, SOURCES)]
    replayed = request.getfixturevalue("replayed")
    counts = []
    for sources, results in zip((SOURCES, OTHERS, SOURCES), expected, strict=True):
        for one, other in zip(run_search(model, *batch(*sources), BEAM), results, strict=True):
            same(one, other)
        counts.append(len(replayed))
    is_parametrised = name == "gehring2017"
    assert counts[0] == counts[2] or is_parametrised  # the second batch may go on for longer


def test_kept_graphs_read_the_present_weights(request: pytest.FixtureRequest) -> None:
    model, source = tiny("vaswani2017", 1), batch(*SOURCES)
    replayed, counts = request.getfixturevalue("replayed"), []
    for seed in (1, 2):
        model.load_state_dict(tiny("vaswani2017", seed).state_dict())
        found, expected = (run_search(each, *source, BEAM) for each in (model, tiny("vaswani2017", seed)))
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        counts.append(len(replayed))
    assert counts[0] > 0 and counts[1] < 2 * counts[0]  # the reference is a new model each time


def test_graphs_end_with_their_model_and_when_memory_is_needed(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("replayed")
    one, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    for model in (one, other, one):
        step = StepGraph(lambda state: state + 1, graphs.name_owner(model))
        state = torch.zeros(3)
        for _ in range(4):
            state = step(state)
        assert state.tolist() == [4.0] * 3
        step.keep()
    assert len(graphs._kept) == len(captured) == 2
    del other, model
    gc.collect()
    assert len(graphs._kept) == 1 and graphs.kept_bytes(torch.device("cpu")) == 12
    release_unused(torch.device("cpu"))
    assert not graphs._kept


def test_the_graphs_that_were_not_used_for_longest_are_dropped(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request.getfixturevalue("replayed")
    model = tiny("vaswani2017", 1)
    run_search(model, *batch(*SOURCES), BEAM)
    before = [*graphs._kept]
    monkeypatch.setattr(graphs, "_MOST_KEPT", 1)
    run_search(model, *batch(*SOURCES), Search(beam=2, longest=20))
    assert len(graphs._kept) == 1 and not set(before) & set(graphs._kept)
    monkeypatch.setattr(graphs, "_most_bytes", lambda _: 0)
    run_search(model, *batch(*SOURCES), BEAM)
    assert not graphs._kept


def test_a_batch_is_filled_up_to_one_of_few_shapes() -> None:
    assert [shapes.round_sentences(count) for count in (1, 2, 7, 8, 9, 16, 17, 100, 2048, 3495)] == [
        *(1, 2, 7, 8, 9, 16, 18, 104, 2048, 3584)
    ]
    source, readable = shapes.fill_up(*batch(*((4,) * 10,) * 17))
    assert source.shape == readable.shape == (18, 16) and int(readable.sum()) == 18 * 10
    assert all(shapes.round_sentences(count) <= count * 1.125 for count in range(1, 5000))


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("most", [1, 2])
def test_the_best_few_are_the_first_of_all(search: Search, most: int) -> None:
    chain, source = random_chain(32), batch((4, 4), (5,), (6, 6, 6), (4,), (6,))
    expected = [found[:most] for found in run_search(chain, *source, search)]
    chain.rows.clear()
    assert run_search(chain, *source, search, most=most) == expected


@models
def test_norms_apart_from_logits_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But which of two hypotheses with the same score is found may change, and `russin2019` has many such."""
    model = tiny(name, 4)
    searches = [Search(longest=9), BEAM]
    expected = [run_search(model, *batch(*SOURCES), search) for search in searches]
    monkeypatch.setattr(loop, "has_fast_log_sum_exp", lambda _: True)
    for search, results in zip(searches, expected, strict=True):
        for found, plain in zip(run_search(model, *batch(*SOURCES), search), results, strict=True):
            assert [h.score for h in found] == pytest.approx([h.score for h in plain], abs=1e-5)
            if name != "russin2019":
                same(found, plain)
