"""The one search: right on a chain whose probabilities are known, and on every model of the record."""

import math
from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import TINY, VOCABULARY, batch, greedy, log_probs, one, plain_beam, random_chain, tiny

from saccade.decode.search import Hypothesis, Search, search
from saccade.text.tokeniser import BOS, EOS, PAD, UNK

SOURCES = [(4, 5, 6, EOS), (5, EOS), (6, 6, 4, 4, 5, EOS), (EOS,)]
# The same examples each time: of new ones, one in a million would have a tie that float32 breaks another way.
SOME = settings(deadline=None, max_examples=60, derandomize=True)
FEW = settings(deadline=None, max_examples=6, derandomize=True)
PENALTIES = st.sampled_from([-1.5, -0.4, 0.0, 0.6, 1.0, 2.0])

models = pytest.mark.parametrize("name", TINY)


def same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.tokens, h.ended) for h in found] == [(h.tokens, h.ended) for h in expected]
    for one_, other in zip(found, expected):
        assert one_.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)
        assert one_.score == pytest.approx(other.score, abs=1e-5)


@models
@FEW
@given(seed=st.integers(0, 10**6))
def test_a_beam_of_one_is_greedy(name: str, seed: int) -> None:
    model = tiny(name, seed)
    for (found,), row in zip(search(model, *batch(*SOURCES), Search(longest=6)), SOURCES):
        assert found.tokens == greedy(model, *one(*row), longest=6)


@models
@FEW
@given(seed=st.integers(0, 10**6), penalty=PENALTIES, n_best=st.integers(1, 4))
def test_a_wide_beam_finds_the_exhaustive_optimum(name: str, seed: int, penalty: float, n_best: int) -> None:
    model, source, longest = tiny(name, seed, vocabulary=6), one(4, 5, EOS), 3
    words = (UNK, 4, 5)
    every = [(*words_, EOS) for length in range(longest) for words_ in product(words, repeat=length)]
    how = Search(beam=len(every) + len(words) ** longest, length_penalty=penalty, n_best=n_best, longest=longest)
    scores = {w[:-1]: how.score(sum(log_probs(model, *source, w)), len(w)) for w in every}
    best = sorted(scores.values(), reverse=True)[:n_best]
    (found,) = search(model, *source, how)
    assert [h.score for h in found[:n_best]] == pytest.approx(best, abs=1e-5)
    assert [scores[h.tokens] for h in found[:n_best]] == pytest.approx(best, abs=1e-5)


@SOME
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1.0, 3.0, 9.0]),  # 9: nearly sure of each word, so that length may pay
    penalty=PENALTIES,
    beam=st.integers(1, 5),
    longest=st.integers(1, 12),
    data=st.data(),
)
def test_it_never_stops_too_early(
    seed: int, scale: float, penalty: float, beam: int, longest: int, data: st.DataObject
) -> None:
    """What it leaves out would not have been among the n best of a beam that goes on to the last."""
    chain, source = random_chain(seed, scale), one(4, EOS)
    n_best = data.draw(st.integers(1, beam))
    how = Search(beam=beam, length_penalty=penalty, longest=longest, n_best=n_best)
    (found,) = search(chain, *source, how)
    expected = plain_beam(chain, *source, beam=beam, longest=longest, score=how.score)
    assert [(h.ended, h.tokens) for h in found[:n_best]] == [(ended, tokens) for ended, _, tokens in expected[:n_best]]
    assert [h.score for h in found[:n_best]] == pytest.approx([score for _, score, _ in expected[:n_best]], abs=1e-4)
    assert len({(h.tokens, h.ended) for h in found}) == len(found) <= beam


@pytest.mark.parametrize(("penalty", "word", "words"), [(1.0, -1.2, 9), (-1.0, -0.6, 1)])
def test_what_would_win_later_is_waited_for(penalty: float, word: float, words: int) -> None:
    """To end at once has −1, and at the next length (or at the longest) the word would not be better; but it will be:
    all that follows it is sure.
    """
    chain = random_chain(1, 0.0)
    chain.logits[:] = -60.0
    chain.logits[0, ..., EOS], chain.logits[0, ..., 4] = -1.0, word
    chain.logits[0, ..., PAD] = math.log(1 - math.exp(-1.0) - math.exp(word))  # never written
    chain.logits[1:words, ..., 4] = chain.logits[words, ..., EOS] = 0.0
    ((best, *_),) = search(chain, *one(4), Search(beam=2, length_penalty=penalty, longest=12))
    assert best.tokens == (4,) * words and best.log_prob == pytest.approx(word, abs=1e-5)


def test_it_stops_when_nothing_can_win() -> None:
    """The end is nearly sure at once, and without a penalty nothing longer can be as probable."""
    chain = random_chain(1)
    chain.logits[..., EOS] = 20.0
    search(chain, *one(4, EOS), Search(beam=3, length_penalty=0.0))
    assert len(chain.rows) == 1


HOWS = {
    "greedy": Search(),
    "beam": Search(beam=3, n_best=2),
    "beam, long preferred": Search(beam=3, length_penalty=3.0),
    "beam, short preferred": Search(beam=3, length_penalty=-3.0),
    "samples": Search(beam=3, sample=True),
}


@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
@pytest.mark.parametrize("end", [-math.inf, -80.0])
def test_every_mode_ends_where_the_model_never_does(how: Search, end: float) -> None:
    chain = random_chain(2, 0.5)
    chain.logits[..., EOS] = end
    results = search(chain, *batch((4, 4, 4), (5,)), how)
    for length, found in zip((3, 1), results, strict=True):
        assert len(found) == how.beam
        for hypothesis in found:
            assert not hypothesis.ended
            assert len(hypothesis.tokens) == len(hypothesis.token_log_probs) == 2 * length + 10
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)
    assert len(chain.rows) == 2 * 3 + 10


def test_the_longest_length_is_kept_exactly() -> None:
    chain = random_chain(3)
    chain.logits[..., EOS] = -9.0
    for longest in (1, 2, 5):
        chain.rows.clear()
        ((found,),) = search(chain, *one(4), Search(longest=longest))
        assert len(found.tokens) == longest == len(chain.rows)


def test_what_ended_comes_before_what_was_cut_off() -> None:
    chain = random_chain(4, 0.0)
    chain.logits[0, :, :, EOS] = -3.0  # ended at once, and improbable; all else is cut off
    chain.logits[0, :, :, 4] = 2.0
    chain.logits[1, :, :, EOS] = -50.0
    (found,) = search(chain, *one(4), Search(beam=4, length_penalty=0.0, longest=2, n_best=4))
    assert [h.ended for h in found] == sorted((h.ended for h in found), reverse=True)
    for kind in (True, False):
        scores = [h.score for h in found if h.ended == kind]
        assert scores == sorted(scores, reverse=True)


def test_n_best_are_different_and_best_first() -> None:
    chain = random_chain(5)
    (found,) = search(chain, *one(5), Search(beam=6, n_best=6, longest=8))
    assert len(found) == 6 == len({h.tokens for h in found})


def test_few_possible_outputs_give_few_hypotheses() -> None:
    chain = random_chain(6)
    chain.logits[..., [UNK, 5, 6]] = -math.inf  # word 4 and the end are left
    (found,) = search(chain, *one(4), Search(beam=8, n_best=8, longest=3))
    assert {(h.tokens, h.ended) for h in found} == {((), True), ((4,), True), ((4, 4), True), ((4, 4, 4), False)}


@models
@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
def test_scores_are_the_forced_log_probabilities(name: str, how: Search) -> None:
    model = tiny(name, 7)
    for row, found in zip(SOURCES, search(model, *batch(*SOURCES), how)):
        assert found
        for hypothesis in found:
            written = (*hypothesis.tokens, EOS) if hypothesis.ended else hypothesis.tokens
            assert hypothesis.token_log_probs == pytest.approx(log_probs(model, *one(*row), written), abs=1e-4)
            assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_log_probs), abs=1e-4)
            penalty = ((5 + len(written)) / 6) ** how.length_penalty
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / penalty)


@models
@pytest.mark.parametrize("how", HOWS.values(), ids=HOWS)
def test_results_do_not_depend_on_batch_or_padding(name: str, how: Search) -> None:
    """Of 1 to 6 tokens, so sentences finish, and leave, at different steps."""
    model = tiny(name, 8)
    together = search(model, *batch(*SOURCES), how)
    backwards = search(model, *batch(*SOURCES[::-1]), how, indices=range(len(SOURCES))[::-1])
    for i, row in enumerate(SOURCES):
        (alone,) = search(model, *one(*row), how, indices=[i])
        same(together[i], alone)
        same(backwards[-1 - i], alone)


def test_what_is_fixed_is_a_row_a_sentence_and_finished_sentences_leave() -> None:
    chain = random_chain(9)
    chain.logits[..., EOS] = -40.0
    chain.logits[0, 5, :, EOS] = 20.0  # sentence 5 ends at once, with all its hypotheses to come far behind
    chain.logits[1, 6, :, EOS] = 20.0  # sentence 6 after a word
    for how in (Search(), Search(beam=3), Search(beam=3, sample=True)):
        chain.rows.clear()
        results = search(chain, *batch((4,), (5,), (6,)), how)
        counts = [sentences for sentences, _ in chain.rows]
        assert [rows for _, rows in chain.rows] == [count * how.beam for count in counts]
        assert counts == sorted(counts, reverse=True) and set(counts) == {3, 2, 1} and len(counts) == 12
        assert [len(found[0].tokens) for found in results] == [12, 0, 1]


def test_samples_are_drawn_by_seed_and_sentence() -> None:
    chain, source = random_chain(10, 1.0), batch((4,), (4,), (5,))
    how = Search(beam=4, sample=True, seed=3)
    runs = []
    for each in (how, how, Search(beam=4, sample=True, seed=4)):
        chain.rows.clear()
        runs.append(search(chain, *source, each))
    first, again, other = runs
    assert first == again != other
    assert first[0] != first[1]  # the same words, but another sentence: a stream of its own
    chain.rows.clear()
    (alone,) = search(chain, *one(5), how, indices=[2])
    assert alone == first[2]


@models
def test_cold_samples_are_greedy(name: str) -> None:
    model, source = tiny(name, 11), batch(*SOURCES)
    cold = search(model, *source, Search(beam=2, sample=True, temperature=1e-6))
    for samples, (best,) in zip(cold, search(model, *source, Search())):
        same(samples, [best, best])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_are_as_frequent_as_they_are_probable(temperature: float) -> None:
    chain, draws = random_chain(12, 1.0), 20_000
    (found,) = search(chain, *one(4), Search(beam=draws, sample=True, temperature=temperature, longest=1))
    counts = Counter(h.tokens for h in found)
    tempered = torch.softmax(chain.logits[0, 4, BOS] / temperature, -1).tolist()
    allowed = {
        (token,) if token != EOS else (): tempered[token] for token in range(VOCABULARY) if token not in (PAD, BOS)
    }
    total = sum(allowed.values())
    assert counts.keys() <= allowed.keys()
    for tokens, weight in allowed.items():
        p = weight / total
        assert abs(counts[tokens] / draws - p) < 4 * math.sqrt(p * (1 - p) / draws)


def test_an_empty_batch_has_no_results() -> None:
    assert search(random_chain(1), torch.zeros(0, 3).long(), torch.zeros(0, 3).bool(), Search(beam=2)) == []


def test_a_sentence_needs_one_index() -> None:
    with pytest.raises(ValueError):
        search(random_chain(1), *batch((4,), (5,)), indices=[0])


BAD: list[dict[str, Any]] = [
    {"beam": 0},
    {"n_best": 0},
    {"beam": 2, "n_best": 3},
    {"temperature": 0.0},
    {"temperature": -1.0},
    {"temperature": math.nan},
    {"temperature": math.inf},
    {"length_penalty": math.nan},
    {"longest": 0},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_bad_settings_say_what_came(options: dict[str, Any]) -> None:
    name, value = list(options.items())[-1]
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        Search(**options)
