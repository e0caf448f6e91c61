from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align import Links
from saccade.align.links import symmetrise
from saccade.errors import UserError

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


@settings(deadline=None, max_examples=100)
@given(LINKS, LINKS)
def test_each_method_contains_the_links_of_the_previous_one(forward: Links, backward: Links) -> None:
    intersection = symmetrise(forward, backward, "intersection")
    grown = symmetrise(forward, backward, "grow-diag")
    both = symmetrise(forward, backward, "grow-diag-final-and")
    final = symmetrise(forward, backward, "grow-diag-final")
    union = symmetrise(forward, backward, "union")
    assert intersection == forward & backward
    assert union == forward | backward
    assert intersection <= grown <= both <= union
    assert grown <= final <= union


@settings(deadline=None, max_examples=60)
@given(LINKS, LINKS)
def test_final_links_every_word_that_has_a_candidate(forward: Links, backward: Links) -> None:
    final = symmetrise(forward, backward)
    for i, j in forward | backward:  # every word that either linked is linked
        assert i in {source for source, _ in final}
        assert j in {target for _, target in final}
    both = symmetrise(forward, backward, "grow-diag-final-and")
    for i, j in forward | backward:  # nothing is left whose words both have no link
        assert i in {source for source, _ in both} or j in {target for _, target in both}


@settings(deadline=None, max_examples=30)
@given(LINKS)
def test_equal_directions_are_unchanged(links: Links) -> None:
    for how in ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"):
        assert symmetrise(links, links, how) == links


def test_growing_by_hand() -> None:
    forward = frozenset({(0, 0), (1, 1), (3, 2), (4, 4), (2, 5)})
    backward = frozenset({(0, 0), (2, 2), (3, 2), (4, 0)})
    # Both have (0, 0) and (3, 2). (1, 1) touches (0, 0) by a corner, (2, 2) touches (3, 2), and both bring a new word.
    grown = {(0, 0), (3, 2), (1, 1), (2, 2)}
    assert symmetrise(forward, backward, "grow-diag") == grown
    # (4, 4) brings two new words, (2, 5) one; (4, 0) none any more.
    assert symmetrise(forward, backward, "grow-diag-final-and") == grown | {(4, 4)}
    assert symmetrise(forward, backward, "grow-diag-final") == grown | {(4, 4), (2, 5)}


def test_an_unknown_method_is_refused() -> None:
    unknown: Any = "grow"
    with pytest.raises(UserError, match="unknown symmetrisation 'grow': choose one of intersection, union"):
        symmetrise(frozenset(), frozenset(), unknown)
