import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align import (
    GoldLinks,
    Links,
    diagonal_links,
    links_from_weights,
    score_alignments,
    score_uniform,
)
from saccade.errors import UserError

LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)
GOLD = st.builds(lambda sure, more: GoldLinks(sure=sure, possible=sure | more), LINKS, LINKS)


def test_error_rate_by_hand() -> None:
    gold = [
        GoldLinks(sure=frozenset({(0, 0), (1, 1)}), possible=frozenset({(0, 0), (1, 1), (1, 2)})),
        GoldLinks.all_sure([(0, 0)]),
    ]
    found = [frozenset({(0, 0), (1, 2), (2, 2)}), frozenset({(0, 0)})]
    scores = score_alignments(found, gold)
    # |A| = 4, |S| = 3, |A∩S| = 2, |A∩P| = 3
    assert scores.precision == pytest.approx(3 / 4)
    assert scores.recall == pytest.approx(2 / 3)
    assert scores.aer == pytest.approx(1 - 5 / 7)
    assert scores.sentences == 2


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(LINKS, GOLD), min_size=1, max_size=4))
def test_scores_are_fractions_and_the_gold_is_perfect(pairs: list[tuple[Links, GoldLinks]]) -> None:
    gold = [truth for _, truth in pairs]
    scores = score_alignments([links for links, _ in pairs], gold)
    assert all(0 <= value <= 1 for value in (scores.aer, scores.precision, scores.recall))
    perfect = score_alignments([truth.sure for truth in gold], gold)
    assert (perfect.aer, perfect.precision, perfect.recall) == (0, 1, 1)
    assert score_alignments([truth.possible for truth in gold], gold).aer == pytest.approx(0)


def test_sure_links_must_be_possible() -> None:
    with pytest.raises(ValueError, match=r"\(0, 1\)"):
        GoldLinks(sure=frozenset({(0, 1)}), possible=frozenset())


def test_uneven_lists_are_refused() -> None:
    with pytest.raises(UserError, match="1 alignments and 2 gold"):
        score_alignments([frozenset()], [GoldLinks.all_sure([])] * 2)


def test_each_target_word_links_to_its_heaviest_source_word() -> None:
    weights = [[0.1, 0.7, 0.2], [0.5, 0.25, 0.25], [0.4, 0.4, 0.2], [0.0, 0.0, 0.0]]
    assert links_from_weights(weights) == {(1, 0), (0, 1), (0, 2)}
    assert links_from_weights(weights, threshold=0.5) == {(1, 0), (0, 1)}
    assert links_from_weights(np.zeros((2, 0))) == frozenset()


def test_diagonal_links_by_hand() -> None:
    assert diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal_links(4, 2) == {(1, 0), (3, 1)}
    assert diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal_links(0, 2) == diagonal_links(2, 0) == frozenset()


def test_uniform_scores_are_the_mean_over_random_links() -> None:
    gold = [
        GoldLinks(sure=frozenset({(0, 0), (1, 1)}), possible=frozenset({(0, 0), (1, 1), (2, 1)})),
        GoldLinks.all_sure([(0, 0), (4, 3)]),
    ]
    lengths = [(3, 2), (5, 4)]
    random = np.random.default_rng(0)
    drawn = [
        score_alignments([frozenset((int(random.integers(s)), j) for j in range(t)) for s, t in lengths], gold)
        for _ in range(4000)
    ]
    exact = score_uniform(gold, lengths)
    assert exact.aer == pytest.approx(np.mean([scores.aer for scores in drawn]), abs=0.01)
    assert exact.precision == pytest.approx(np.mean([scores.precision for scores in drawn]), abs=0.01)
    assert exact.recall == pytest.approx(np.mean([scores.recall for scores in drawn]), abs=0.01)


def test_uniform_scores_skip_an_empty_source() -> None:
    """Target words without a source get no link and cost neither precision nor errors."""
    gold, lengths = [GoldLinks.all_sure([(0, 0), (1, 1)]), GoldLinks.all_sure([])], [(2, 2), (0, 3)]
    exact = score_uniform(gold, lengths)
    assert (exact.precision, exact.recall, exact.aer) == pytest.approx((1 / 2, 1 / 2, 1 / 2))
    assert exact.sentences == 2
    nothing = score_uniform(gold[1:], lengths[1:])
    assert (nothing.precision, nothing.recall, nothing.aer) == (1, 1, 0)


def test_one_source_word_makes_uniform_scores_certain() -> None:
    assert score_uniform([GoldLinks.all_sure([(0, 0), (0, 1)])], [(1, 2)]).aer == 0
