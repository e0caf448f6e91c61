from itertools import pairwise

import pytest

from saccade.tasks import Sequences


@pytest.mark.parametrize("order", ["copy", "reverse", "sort"])
def test_links_join_equal_letters_each_once(order: str) -> None:
    for pair in Sequences(order=order).pairs(200, 1):
        source, target = pair.source.split(), pair.target.split()
        assert sorted(i for i, _ in pair.alignment) == sorted(j for _, j in pair.alignment) == list(range(len(source)))
        assert all(source[i] == target[j] for i, j in pair.alignment)


def test_copy_reverse_and_sort_order_the_letters() -> None:
    copied, reversed_, sorted_ = (list(Sequences(order=order).pairs(100, 1)) for order in ("copy", "reverse", "sort"))
    for a, b, c in zip(copied, reversed_, sorted_):
        assert a.source == b.source == c.source == a.target  # the same sequences, to compare by
        assert b.target == b.source[::-1]
        assert c.target.split() == sorted(c.source.split())


def test_equal_letters_keep_their_order_in_sort() -> None:
    ties = 0
    for pair in Sequences(order="sort").pairs(100, 1, words=(20, 30)):
        letters = pair.source.split()
        for (i, j), (k, m) in pairwise(sorted(pair.alignment, key=lambda link: link[1])):
            assert m == j + 1
            ties += letters[i] == letters[k]
            assert letters[i] < letters[k] or (letters[i] == letters[k] and i < k)
    assert ties > 100


def test_sequence_lengths_are_equally_likely() -> None:
    lengths = [len(pair.source.split()) for pair in Sequences(order="copy").pairs(2000, 1, words=(3, 12))]
    assert min(lengths.count(length) for length in range(3, 13)) > 140
