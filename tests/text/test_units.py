"""Words or pieces: the one rule."""

import pytest

from saccade.errors import UserError
from saccade.text.units import By, Unit, read_by, unit_of


@pytest.mark.parametrize(
    ("by", "characters", "source_words", "expected"),
    [
        ("auto", False, [4], "word"),
        ("auto", False, [1], "piece"),  # words would have nothing to tell apart
        ("auto", False, [1, 1, 2], "word"),  # one unit for all of them
        ("auto", False, [1, 1], "piece"),
        ("auto", False, [0], "word"),
        ("auto", False, [], "word"),
        ("auto", True, [4], "piece"),
        ("word", True, [1], "word"),
        ("piece", False, [4], "piece"),
    ],
)
def test_which_units_are_shown(by: By, characters: bool, source_words: list[int], expected: Unit) -> None:
    assert unit_of(by, characters=characters, source_words=source_words) == expected


def test_an_unknown_unit_is_told() -> None:
    assert read_by("piece") == "piece"
    with pytest.raises(UserError, match="--by letter: expected auto, piece, word"):
        read_by("letter")
