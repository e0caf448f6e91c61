import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.evaluation.breakdowns import Bucket, buckets


def test_edges_are_the_last_numbers_of_their_buckets() -> None:
    assert [bucket.label for bucket in buckets((5, 6, 20), [3, 20])] == ["1–5", "6", "7–20"]


def test_an_open_bucket_appears_only_when_needed() -> None:
    assert buckets((5,), [6])[-1] == Bucket(low=6, high=None)
    assert buckets((5,), [6])[-1].label == "6+"
    assert len(buckets((5,), [5])) == 1


def test_no_edges_give_one_bucket() -> None:
    assert buckets((), [7]) == (Bucket(low=1, high=None),)


@settings(deadline=None, max_examples=100)
@given(st.sets(st.integers(0, 100)).map(sorted), st.lists(st.integers(0, 200), min_size=1))
def test_every_number_is_in_exactly_one_bucket(edges: list[int], numbers: list[int]) -> None:
    found = buckets(edges, numbers)
    assert all(sum(number in bucket for bucket in found) == 1 for number in numbers)


def test_an_edge_of_0_separates_0_if_there_is_one() -> None:
    assert [bucket.label for bucket in buckets((0, 1, 5), [0, 3])] == ["0", "1", "2–5"]
    assert [bucket.label for bucket in buckets((0, 1, 5), [3])] == ["1", "2–5"]


@pytest.mark.parametrize("edges", [(-1, 5), (5, 5), (10, 5)])
def test_edges_that_do_not_increase_are_refused(edges: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="increase"):
        buckets(edges, [1])


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(UserError, match="-1"):
        buckets((5,), [-1])
