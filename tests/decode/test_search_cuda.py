"""On a GPU every mode finds the same as on the CPU."""

import pytest
import torch
from brute_force import Spelled, Watched
from search_models import TINY, batch, tiny

from saccade.decode import Constraints, Ensemble, Recorder, Search, run_search
from saccade.decode.constraints.choice import Rules
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
