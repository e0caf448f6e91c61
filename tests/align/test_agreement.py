import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align import Links, diagonal_links
from saccade.align.scores import agreement, predictability
from saccade.errors import UserError

LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(LINKS, LINKS), min_size=1, max_size=4))
def test_agreement_is_a_symmetric_fraction(pairs: list[tuple[Links, Links]]) -> None:
    one, other = [left for left, _ in pairs], [right for _, right in pairs]
    assert 0 <= agreement(one, other) <= 1
    assert agreement(one, other) == agreement(other, one)
    assert agreement(one, one) == 1


def test_agreement_by_hand() -> None:
    assert agreement([frozenset({(0, 0), (1, 1)})], [frozenset({(0, 0)})]) == pytest.approx(2 / 3)


def test_predictability_by_hand() -> None:
    links = [frozenset({(0, 0)})] * 2 + [frozenset({(0, 0)})]
    sources, targets = [["cat"], ["Cat"], ["dog"]], [["chat"], ["chat"], ["chien", "."]]
    # p(chat) = 2/3, p(chien) = 1/3. cat → chat: (2 − 1 + 2/3)/2 over 2/3, twice; dog → chien: (1 − 1 + 1/3)/1 over 1/3.
    assert predictability(links, sources, targets) == pytest.approx(2 * math.log2((5 / 3 / 2) / (2 / 3)) / 4)


def test_links_that_occur_once_predict_nothing() -> None:
    words = [[letter] for letter in "abcdef"]
    assert predictability([frozenset({(0, 0)})] * 6, words, [w[::-1] for w in words]) == pytest.approx(0)


def test_right_links_predict_more_than_shifted_links() -> None:
    lexicon = dict(zip("abcdefgh", "ABCDEFGH"))
    sources = [
        [letters[(n * k + m) % 8] for m in range(6)] for letters in ["abcdefgh"] for n in range(8) for k in (1, 3, 5)
    ]
    sources = [[*row[::2], *row[1::2]] for row in sources]
    targets = [[lexicon[word] for word in row] for row in sources]
    right = [diagonal_links(6, 6)] * len(sources)
    shifted = [frozenset((max(0, i - 1), j) for i, j in links) for links in right]
    none: list[Links] = [frozenset()] * len(sources)
    assert predictability(right, sources, targets) > predictability(shifted, sources, targets)
    assert predictability(none, sources, targets) == 0


def test_uneven_lists_are_refused() -> None:
    with pytest.raises(UserError, match="1 forward and 2 backward"):
        agreement([frozenset()], [frozenset()] * 2)
