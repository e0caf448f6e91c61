import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.evaluation.breakdowns import by_frequency, word_counts

TEXTS = st.lists(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join), min_size=1, max_size=4)


def test_frequency_scores_by_hand() -> None:
    counts = word_counts(["la la la maison", "la rare"])
    assert counts == {"la": 4, "maison": 1, "rare": 1}
    zero, one, some, *rest = by_frequency(["la maison la neuve"], ["la maison rare inconnue"], counts=counts)
    assert [row.bucket.label for row in (zero, one, some)] == ["0", "1", "2–5"]
    assert all(row.f is None for row in rest)
    assert (zero.matched, zero.written, zero.expected) == (0, 1, 1)  # neuve for inconnue
    assert (one.precision, one.recall, one.f) == (1, 0.5, pytest.approx(2 / 3))  # maison, but no rare
    assert (some.precision, some.recall) == (0.5, 1)  # la once too often
    assert zero.to_dict() == {
        "frequency": "0",
        "precision": 0,
        "recall": 0,
        "f": 0,
        "found": 0,
        "written": 1,
        "expected": 1,
    }


def test_the_references_are_counted_by_default() -> None:
    once, twice = by_frequency(["a a", "b"], ["a b", "a c"], edges=(1, 2))
    assert (once.expected, once.matched, twice.expected, twice.matched) == (2, 0, 2, 1)
    assert once.written == 1  # b, which the references hold once; it was not asked for there


def test_a_zero_denominator_gives_none() -> None:
    rows = by_frequency(["a"], ["b"], counts={"b": 3}, edges=(0, 1, 5))
    assert [(row.precision, row.recall, row.f) for row in rows] == [(0, None, 0), (None, None, None), (None, 0, 0)]


def test_the_nearest_of_several_references_counts() -> None:
    (row,) = by_frequency(["a b c"], [["x y z", "a b d"]], edges=())
    assert (row.matched, row.expected) == (2, 3)


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_a_perfect_output_has_full_scores(texts: list[str]) -> None:
    rows = by_frequency(texts, texts)
    assert all(row.f in (1, None) for row in rows)
    assert sum(row.expected for row in rows) == sum(word_counts(texts).values())


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(TEXTS.map(" ".join), TEXTS.map(" ".join)), min_size=1, max_size=4))
def test_every_word_is_in_one_row_and_scores_are_fractions(pairs: list[tuple[str, str]]) -> None:
    hypotheses, references = [one for one, _ in pairs], [other for _, other in pairs]
    rows = by_frequency(hypotheses, references, counts={"a": 1, "b": 7}, edges=(0, 5))
    assert sum(row.written for row in rows) == sum(word_counts(hypotheses).values())
    assert all(0 <= share <= 1 for row in rows for share in (row.precision, row.recall, row.f) if share is not None)
