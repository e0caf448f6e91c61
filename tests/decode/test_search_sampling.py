"""Samples depend on seed and sentence only, and have the right frequencies."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import TINY, VOCABULARY, batch, random_chain, single, tiny
from test_search import SOURCES, same

from saccade.decode.options import Search
from saccade.decode.search.loop import run_search
from saccade.decode.search.masks import mask_improbable
from saccade.text import BOS, EOS, PAD

models = pytest.mark.parametrize("name", TINY)


def test_samples_depend_on_seed_and_sentence() -> None:
    chain, source = random_chain(10, 1.0), batch((4,), (4,), (5,))
    search = Search(beam=4, sample=True, seed=3)
    runs = []
    for each in (search, search, Search(beam=4, sample=True, seed=4)):
        chain.rows.clear()
        runs.append(run_search(chain, *source, each))
    first, again, other = runs
    assert first == again != other
    assert first[0] != first[1]  # the same words, but another sentence: a stream of its own
    chain.rows.clear()
    (alone,) = run_search(chain, *single(5), search, indices=[2])
    assert alone == first[2]


@models
def test_samples_at_a_low_temperature_are_greedy(name: str) -> None:
    model, source = tiny(name, 11), batch(*SOURCES)
    cold = run_search(model, *source, Search(beam=2, sample=True, temperature=1e-6))
    for samples, (best,) in zip(cold, run_search(model, *source, Search())):
        same(samples, [best, best])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_sample_frequencies_equal_probabilities(temperature: float) -> None:
    chain, draws = random_chain(12, 1.0), 5_000
    (samples,) = run_search(chain, *single(4), Search(beam=draws, sample=True, temperature=temperature, longest=1))
    counts = Counter(h.tokens for h in samples)
    tempered = torch.softmax(chain.logits[0, 4, BOS] / temperature, -1).tolist()
    allowed = {
        (token,) if token != EOS else (): tempered[token] for token in range(VOCABULARY) if token not in (PAD, BOS)
    }
    total = sum(allowed.values())
    assert counts.keys() <= allowed.keys()
    for tokens, weight in allowed.items():
        p = weight / total
        assert abs(counts[tokens] / draws - p) < 4 * math.sqrt(p * (1 - p) / draws)


def test_different_seeds_and_sentences_give_different_samples() -> None:
    """Seed 1 of one sentence is not seed 2 of another."""
    chain = random_chain(10, 0.3)
    chain.logits[..., EOS] = -math.inf
    drawn = set()
    for seed in (0, 1, 2, 1_000_003):
        for index in (0, 1, 2, 1_000_003):
            chain.rows.clear()
            ((samples,),) = run_search(chain, *single(4), Search(sample=True, seed=seed, longest=19), indices=[index])
            drawn.add((samples.tokens, samples.log_prob))
    assert len(drawn) == 16


@settings(deadline=None, max_examples=80)
@given(
    logits=st.lists(st.sampled_from([-math.inf, *(x / 4 for x in range(-12, 12))]), min_size=2, max_size=9),
    top_k=st.none() | st.integers(1, 12),
    top_p=st.floats(0.01, 1.0),
    min_p=st.floats(0.0, 1.0),
)
def test_improbable_tokens_are_masked(logits: list[float], top_k: int | None, top_p: float, min_p: float) -> None:
    if max(logits) == -math.inf:
        logits[0] = 0.0
    given_ = torch.tensor(logits).log_softmax(-1)
    probable = mask_improbable(given_[None], Search(sample=True, top_k=top_k, top_p=top_p, min_p=min_p))[0]
    probs = given_.exp().tolist()
    assert probable[given_.argmax()] == given_.max()
    for p, before, after in zip(probs, given_.tolist(), probable.tolist()):
        better = [q for q in probs if q > p + 1e-6]
        as_good = [q for q in probs if q > p - 1e-6]
        may = (top_k is None or len(better) < top_k) and sum(better) < top_p + 1e-5 and p >= min_p * max(probs) - 1e-6
        must = (top_k is None or len(as_good) <= top_k) and sum(as_good) < top_p and p > min_p * max(probs) + 1e-6
        assert after in (before, -math.inf)
        assert may or after == -math.inf
        assert not must or after == before


def test_only_probable_tokens_are_sampled() -> None:
    chain = random_chain(15, 1.5)
    first = chain.logits[0, 4, BOS].clone()
    first[[PAD, BOS]] = -math.inf
    best = first.topk(2).indices.tolist()
    for search in (
        Search(beam=500, sample=True, top_k=2, longest=1),
        Search(beam=500, sample=True, top_k=1, longest=1),
    ):
        chain.rows.clear()
        (samples,) = run_search(chain, *single(4), search)
        drawn = {h.tokens[0] if h.tokens else EOS for h in samples}
        assert drawn == set(best[: search.top_k])
