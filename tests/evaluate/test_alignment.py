from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.evaluate.alignment import (
    GoldLinks,
    Links,
    diagonal_links,
    format_links,
    links_from_weights,
    parse_gold,
    read_gold,
    score_alignments,
    score_uniform,
)

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
    assert scores.as_dict()["sentences"] == 2


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


def test_the_diagonal() -> None:
    assert diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert diagonal_links(4, 2) == {(1, 0), (3, 1)}
    assert diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal_links(0, 2) == diagonal_links(2, 0) == frozenset()


def test_the_uniform_aligner_is_the_mean_of_drawn_ones() -> None:
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


def test_one_source_word_leaves_nothing_to_chance() -> None:
    assert score_uniform([GoldLinks.all_sure([(0, 0), (0, 1)])], [(1, 2)]).aer == 0


def test_gold_files_mark_what_is_only_possible(tmp_path: Path) -> None:
    path = tmp_path / "gold.txt"
    path.write_text("0-0 1p2 2-1\n\n0-0\n", encoding="utf-8")
    first, second, third = read_gold(path, lengths=[(3, 3), (2, 2), (1, 1)])
    assert first == GoldLinks(sure=frozenset({(0, 0), (2, 1)}), possible=frozenset({(0, 0), (1, 2), (2, 1)}))
    assert second == GoldLinks.all_sure([])
    assert third == GoldLinks.all_sure([(0, 0)])


@settings(deadline=None, max_examples=50)
@given(LINKS)
def test_pharaoh_lines_come_back(links: Links) -> None:
    assert parse_gold(format_links(links), place="line") == GoldLinks.all_sure(links)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0-0\n0:1\n", "gold.txt:2: '0:1' is not a link; expected i-j"),
        (b"0-0\n1--1\n", "gold.txt:2: '1--1'"),
        (b"0-0\n0-\xff\n", "gold.txt:2: '0-\ufffd'"),
        (b"2-0\n0-0\n", "gold.txt:1: link 2-0 is out of range; the pair has 2 source and 1 target words"),
        (b"0p1\n0-0\n", "gold.txt:1: link 0p1 is out of range"),
        (b"0-0\n", "gold.txt: 1 lines of alignments for 2 pairs"),
    ],
)
def test_bad_gold_is_reported_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "gold.txt"
    path.write_bytes(content)
    with pytest.raises(UserError) as raised:
        read_gold(path, lengths=[(2, 1), (2, 1)])
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_gold_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.txt: cannot read the alignments: No such file"):
        read_gold(tmp_path / "none.txt")
