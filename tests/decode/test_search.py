"""The search is right on a chain with known probabilities, and on a tiny model of every paper."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import TINY, batch, greedy, log_probs, plain_beam, random_chain, single, tiny

from saccade.decode.options import LengthNorm, Search
from saccade.decode.search.loop import Hypothesis, run_search
from saccade.text import BOS, EOS, PAD, UNK

SOURCES = [(4, 5, 6, EOS), (5, EOS), (6, 6, 4, 4, 5, EOS), (EOS,)]
# The same examples each time: of new ones, one in a million would have a tie that float32 breaks another way.
SOME = settings(deadline=None, max_examples=60, derandomize=True)
FEW = settings(deadline=None, max_examples=2, derandomize=True)
PENALTIES = st.sampled_from([-3.0, -1.5, -0.4, 0.0, 0.6, 1.0, 2.0])
NORMS = st.sampled_from(["wu", "mean", "none"])

models = pytest.mark.parametrize("name", TINY)


def same(hypotheses: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.tokens, h.ended) for h in hypotheses] == [(h.tokens, h.ended) for h in expected]
    for one_, other in zip(hypotheses, expected):
        assert one_.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)
        assert one_.score == pytest.approx(other.score, abs=1e-5)


@models
@FEW
@given(seed=st.integers(0, 10**6))
def test_a_beam_of_one_is_greedy(name: str, seed: int) -> None:
    model = tiny(name, seed)
    for (hypotheses,), row in zip(run_search(model, *batch(*SOURCES), Search(longest=6)), SOURCES):
        assert hypotheses.tokens == greedy(model, *single(*row), longest=6)


@models
@FEW
@given(seed=st.integers(0, 10**6), penalty=PENALTIES, n_best=st.integers(1, 4))
def test_a_wide_beam_finds_the_exhaustive_optimum(name: str, seed: int, penalty: float, n_best: int) -> None:
    model, source, longest = tiny(name, seed, vocabulary=6), single(4, 5, EOS), 3
    words = (UNK, 4, 5)
    outputs = [(*words_, EOS) for length in range(longest) for words_ in product(words, repeat=length)]
    search = Search(beam=len(outputs) + len(words) ** longest, length_penalty=penalty, n_best=n_best, longest=longest)
    scores = {w[:-1]: search.score(sum(log_probs(model, *source, w)), len(w)) for w in outputs}
    best = sorted(scores.values(), reverse=True)[:n_best]
    (hypotheses,) = run_search(model, *source, search)
    assert [h.score for h in hypotheses[:n_best]] == pytest.approx(best, abs=1e-5)
    assert [scores[h.tokens] for h in hypotheses[:n_best]] == pytest.approx(best, abs=1e-5)


@SOME
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1.0, 3.0, 9.0]),  # 9: nearly sure of each word, so that length may pay
    norm=NORMS,
    penalty=PENALTIES,
    beam=st.integers(1, 5),
    longest=st.integers(1, 12),
    data=st.data(),
)
def test_search_never_stops_too_early(
    seed: int, scale: float, norm: LengthNorm, penalty: float, beam: int, longest: int, data: st.DataObject
) -> None:
    """What it leaves out would not have been among the n best of a beam that goes on to the last."""
    chain, source = random_chain(seed, scale), single(4, EOS)
    n_best, shortest = data.draw(st.integers(1, beam)), data.draw(st.integers(0, min(3, longest - 1)))
    lengths = {"shortest": shortest, "longest": longest}
    search = Search(beam=beam, length_norm=norm, length_penalty=penalty, n_best=n_best, **lengths)
    (hypotheses,) = run_search(chain, *source, search)
    expected = plain_beam(chain, *source, beam=beam, score=search.score, **lengths)
    assert [(h.ended, h.tokens) for h in hypotheses[:n_best]] == [
        (ended, tokens) for ended, _, tokens in expected[:n_best]
    ]
    scores = [score for _, score, _ in expected[:n_best]]
    # With α = −3 a score is in the thousands, of which float32 has seven digits.
    assert [h.score for h in hypotheses[:n_best]] == pytest.approx(scores, abs=1e-4, rel=1e-6)
    assert len({(h.tokens, h.ended) for h in hypotheses}) == len(hypotheses) <= beam


@pytest.mark.parametrize(
    ("penalty", "word", "words"),
    [(1.0, -1.2, 9), (1.0, -2.8, 11), (3.0, -22.0, 11), (-1.0, -0.6, 1), (-1.0, -0.84, 1), (-3.0, -0.62, 1)],
)
def test_search_waits_for_a_hypothesis_that_wins_later(penalty: float, word: float, words: int) -> None:
    """To end at once has −1, and at the next length (or at the longest) the word would not be better; but it will be:
    all that follows it is sure. By little, where it ends at the last length (or at the next).
    """
    chain = random_chain(1, 0.0)
    chain.logits[:] = -60.0
    chain.logits[0, ..., EOS], chain.logits[0, ..., 4] = -1.0, word
    chain.logits[0, ..., PAD] = math.log(1 - math.exp(-1.0) - math.exp(word))  # never written
    chain.logits[1:words, ..., 4] = chain.logits[words, ..., EOS] = 0.0
    ((best, *_),) = run_search(chain, *single(4), Search(beam=2, length_penalty=penalty, longest=12))
    assert best.tokens == (4,) * words and best.log_prob == pytest.approx(word, abs=1e-5)


def test_search_stops_when_no_hypothesis_can_win() -> None:
    """The end is nearly sure at once, and without a penalty nothing longer can be as probable."""
    chain = random_chain(1)
    chain.logits[..., EOS] = 20.0
    run_search(chain, *single(4, EOS), Search(beam=3, length_penalty=0.0))
    assert len(chain.rows) == 1


SEARCHES = {
    "greedy": Search(),
    "beam": Search(beam=3, n_best=2),
    "beam, long preferred": Search(beam=3, length_penalty=3.0),
    "beam, short preferred": Search(beam=3, length_penalty=-3.0),
    "beam, mean": Search(beam=3, length_norm="mean"),
    "diverse beam, at least 2": Search(beam=6, groups=2, diversity=1.0, shortest=2),
    "beam, no repetition": Search(beam=3, no_repeat=3, repeats=2),
    "samples": Search(beam=3, sample=True),
    "likely samples": Search(beam=3, sample=True, top_k=3, top_p=0.9, min_p=0.05, temperature=0.8),
}
searches = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def of_models(quick: str) -> pytest.MarkDecorator:
    """Every mode with every model takes long: one mode is quick, the others are marked slow."""
    marked = [
        pytest.param(search, id=name, marks=() if name == quick else pytest.mark.slow)
        for name, search in SEARCHES.items()
    ]
    return pytest.mark.parametrize("search", marked)


@searches
@pytest.mark.parametrize("end", [-math.inf, -80.0])
def test_every_mode_ends_with_a_model_that_never_ends(search: Search, end: float) -> None:
    chain = random_chain(2, 0.5)
    chain.logits[..., EOS] = end
    results = run_search(chain, *batch((4, 4, 4), (5,)), search)
    for length, hypotheses in zip((3, 1), results, strict=True):
        assert len(hypotheses) == search.beam if search.groups == 1 else hypotheses
        for hypothesis in hypotheses:
            assert not hypothesis.ended
            assert len(hypothesis.tokens) == len(hypothesis.token_log_probs) == 2 * length + 10
            assert not {PAD, BOS, EOS} & set(hypothesis.tokens)
    assert len(chain.rows) == 2 * 3 + 10


def test_maximum_length_is_exact() -> None:
    chain = random_chain(3)
    chain.logits[..., EOS] = -9.0
    for longest in (1, 2, 5):
        chain.rows.clear()
        ((hypotheses,),) = run_search(chain, *single(4), Search(longest=longest))
        assert len(hypotheses.tokens) == longest == len(chain.rows)


def test_hypotheses_that_ended_come_first() -> None:
    chain = random_chain(4, 0.0)
    chain.logits[0, :, :, EOS] = -3.0  # ended at once, and improbable; all else is cut off
    chain.logits[0, :, :, 4] = 2.0
    chain.logits[1, :, :, EOS] = -50.0
    (hypotheses,) = run_search(chain, *single(4), Search(beam=4, length_penalty=0.0, longest=2, n_best=4))
    assert [h.ended for h in hypotheses] == sorted((h.ended for h in hypotheses), reverse=True)
    for kind in (True, False):
        scores = [h.score for h in hypotheses if h.ended == kind]
        assert scores == sorted(scores, reverse=True)


def test_n_best_are_different_and_sorted_by_score() -> None:
    chain = random_chain(5)
    (hypotheses,) = run_search(chain, *single(5), Search(beam=6, n_best=6, longest=8))
    assert len(hypotheses) == 6 == len({h.tokens for h in hypotheses})


def test_few_possible_outputs_give_few_hypotheses() -> None:
    chain = random_chain(6)
    chain.logits[..., [UNK, 5, 6]] = -math.inf  # word 4 and the end are left
    (hypotheses,) = run_search(chain, *single(4), Search(beam=8, n_best=8, longest=3))
    assert {(h.tokens, h.ended) for h in hypotheses} == {((), True), ((4,), True), ((4, 4), True), ((4, 4, 4), False)}


@models
@of_models("diverse beam, at least 2")
def test_log_probs_equal_those_of_a_forced_pass(name: str, search: Search) -> None:
    model = tiny(name, 7)
    for row, hypotheses in zip(SOURCES, run_search(model, *batch(*SOURCES), search)):
        assert hypotheses
        for hypothesis in hypotheses[:2]:
            written = (*hypothesis.tokens, EOS) if hypothesis.ended else hypothesis.tokens
            assert hypothesis.token_log_probs == pytest.approx(log_probs(model, *single(*row), written), abs=1e-4)
            assert hypothesis.log_prob == pytest.approx(sum(hypothesis.token_log_probs), abs=1e-4)
            length = (5 + len(written)) / 6 if search.length_norm == "wu" else len(written)
            penalty = length**search.length_penalty
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / penalty)


@models
@of_models("likely samples")
def test_results_do_not_depend_on_batch_or_padding(name: str, search: Search) -> None:
    """Of 1 to 6 tokens, so sentences finish, and leave, at different steps."""
    model = tiny(name, 8)
    together = run_search(model, *batch(*SOURCES), search)
    backwards = run_search(model, *batch(*SOURCES[::-1]), search, indices=range(len(SOURCES))[::-1])
    for i, row in enumerate(SOURCES):
        (alone,) = run_search(model, *single(*row), search, indices=[i])
        same(together[i], alone)
        same(backwards[-1 - i], alone)


def test_fixed_has_one_row_per_sentence_and_finished_sentences_leave() -> None:
    chain = random_chain(9)
    chain.logits[..., EOS] = -40.0
    chain.logits[0, 5, :, EOS] = 20.0  # sentence 5 ends at once, with all its hypotheses to come far behind
    chain.logits[1, 6, :, EOS] = 20.0  # sentence 6 after a word
    for search in (Search(), Search(beam=3), Search(beam=3, sample=True), Search(beam=4, groups=2)):
        chain.rows.clear()
        results = run_search(chain, *batch((4,), (5,), (6,)), search)
        counts = [sentences for sentences, _ in chain.rows]
        assert [rows for _, rows in chain.rows] == [count * search.beam for count in counts]
        assert counts == sorted(counts, reverse=True) and set(counts) == {3, 2, 1} and len(counts) == 12
        assert [len(hypotheses[0].tokens) for hypotheses in results] == [12, 0, 1]


@pytest.mark.parametrize("search", [{}, {"beam": 3}, {"beam": 4, "groups": 2}, {"beam": 2, "sample": True}], ids=str)
def test_minimum_length_depends_on_the_sentence(search: dict[str, int]) -> None:
    """Half of 1, 6 and 3 tokens, in any order; the end is nearly sure at every step."""
    chain, sources, shortest = random_chain(10), [(4,), (5,) * 6, (6,) * 3], [1, 3, 2]
    chain.logits[..., EOS] = 30.0
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        chain.rows.clear()
        results = run_search(chain, *batch(*(sources[i] for i in order)), Search(shortest_ratio=0.5, **search))
        assert [len(hypotheses[0].tokens) for hypotheses in results] == [shortest[i] for i in order]
        assert all(hypotheses[0].ended for hypotheses in results)


def test_an_empty_batch_has_no_results() -> None:
    assert run_search(random_chain(1), torch.zeros(0, 3).long(), torch.zeros(0, 3).bool(), Search(beam=2)) == []


def test_a_sentence_needs_one_index() -> None:
    with pytest.raises(ValueError):
        run_search(random_chain(1), *batch((4,), (5,)), indices=[0])


def test_groups_without_diversity_are_equal_beams() -> None:
    source = batch((4,), (5, 6), (6,))
    chain = random_chain(13, 1.0)
    beam = run_search(chain, *source, Search(beam=3))
    chain.rows.clear()
    assert run_search(chain, *source, Search(beam=9, groups=3, diversity=0.0)) == beam


FIRST = {4: -1.0, 5: -1.15, 6: -1.6, UNK: -2.3}  # log-probabilities of the only word


@pytest.mark.parametrize(
    ("search", "ends", "expected"),
    [
        # The groups hold 4 5 | 6 UNK.
        (Search(beam=4, groups=2, diversity=3.0, n_best=4), {}, {4: -1.0, 6: -1.6, 5: -1.15, UNK: -2.3}),
        # At 0.8 for each earlier use, the groups choose by −1, −1.15 | −1.6, −1.8 | −1.95, −2.3, and hold 4 5 | 6 4 |
        # UNK 5 in the order of their scores: 4 is the best of the first, and the second best of the second.
        (
            Search(beam=6, groups=3, diversity=0.8, n_best=6),
            {4: -1.0, 5: -3.0},
            {6: -1.6, 4: -2.0, UNK: -2.3, 5: -4.15},
        ),
    ],
    ids=["apart", "overlapping"],
)
def test_the_best_of_each_group_come_first_without_duplicates(
    search: Search, ends: dict[int, float], expected: dict[int, float]
) -> None:
    """One word, then the end, whose log-probability is 0 unless it is in `ends`. PAD, never written, has the rest."""
    chain = random_chain(1)
    chain.logits[:] = -60.0
    chain.logits[0, ..., list(FIRST)] = torch.tensor(list(FIRST.values()))
    chain.logits[0, ..., PAD] = math.log(1 - sum(map(math.exp, FIRST.values())))
    chain.logits[1, ..., EOS] = 0.0
    for word, end in ends.items():
        chain.logits[1, :, word, EOS], chain.logits[1, :, word, PAD] = end, math.log(1 - math.exp(end))
    (hypotheses,) = run_search(chain, *single(4), replace(search, longest=3, length_norm="none"))
    assert [h.tokens for h in hypotheses] == [(word,) for word in expected]
    assert [h.score for h in hypotheses] == pytest.approx(list(expected.values()), abs=1e-5)


@SOME
@given(seed=st.integers(0, 10**6), diversity=st.sampled_from([0.3, 2.0, 50.0]))
def test_a_group_pays_for_tokens_of_earlier_groups(seed: int, diversity: float) -> None:
    """Equal to groups of one hypothesis, searched one after another with the tokens of the earlier ones."""
    chain, source, groups = random_chain(seed, 1.0), single(4, EOS), 3
    (hypotheses,) = run_search(chain, *source, Search(beam=groups, groups=groups, diversity=diversity, longest=6))
    steps = torch.log_softmax(chain.logits[:, 4], -1)
    expected: list[tuple[int, ...]] = []
    for _ in range(groups):
        written: tuple[int, ...] = ()
        while len(written) < 6 and EOS not in written:
            place, last = len(written), (BOS, *written)[-1]
            scores = steps[place, last].clone()
            for other in expected:
                if len(other) > place:
                    scores[other[place]] -= diversity
            scores[[PAD, BOS]] = -math.inf
            written = (*written, int(scores.argmax()))
        expected.append(written)
    assert {(*h.tokens, *([EOS] if h.ended else [])) for h in hypotheses} == set(expected)


def test_a_hypothesis_without_allowed_tokens_is_returned() -> None:
    """Three words, none of them twice, and at least five: so three, and no end."""
    chain = random_chain(14)
    chain.logits[..., UNK] = -math.inf
    (hypotheses,) = run_search(chain, *single(4), Search(beam=4, no_repeat=1, shortest=5))
    assert hypotheses and all(sorted(h.tokens) == [4, 5, 6] and not h.ended for h in hypotheses)
    chain.rows.clear()
    chain.logits[...] = -math.inf
    chain.logits[..., PAD] = 0.0
    ((nothing,),) = run_search(chain, *single(4), Search(beam=2, length_norm="mean"))
    assert (nothing.tokens, nothing.log_prob, nothing.score, nothing.ended) == ((), 0.0, 0.0, False)
