"""Which sentences need a later word."""

import pytest

from saccade.study.claims.word_by_word import kind_of
from saccade.tasks import Pair


@pytest.mark.parametrize(
    ("pair", "kind"),
    [
        (Pair(source="ich helfe dir.", target="I help you.", alignment=((0, 0), (1, 1), (2, 2), (3, 3))), "same"),
        (
            Pair(
                source="ich kann dir helfen.",
                target="I can help you.",
                alignment=((0, 0), (1, 1), (2, 3), (3, 2), (4, 4)),
            ),
            "later",
        ),
        (
            Pair(
                source="du lachst im Büro.",
                target="you laugh in the office.",
                alignment=((0, 0), (1, 1), (2, 2), (2, 3), (3, 4), (4, 5)),
            ),
            "other",
        ),
    ],
)
def test_a_sentence_needs_a_later_word_if_a_link_goes_back(pair: Pair, kind: str) -> None:
    assert kind_of(pair) == kind
