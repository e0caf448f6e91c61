from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.text.words import word_spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The well-known dog sleeps.", ["The", "well-known", "dog", "sleeps", "."]),
        ("l'homme n’a pas 3.5 euros", ["l'", "homme", "n’", "a", "pas", "3.5", "euros"]),
        ("我爱bank，ok", ["我", "爱", "bank", "，", "ok"]),
        ("ひらカナ", ["ひ", "ら", "カ", "ナ"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("👍🏽 ok", ["👍", "🏽", "ok"]),
        (" \t ", []),
        ("", []),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@settings(deadline=None, max_examples=200)
@given(st.text())
def test_spans_are_in_order_and_leave_out_nothing_that_can_be_seen(text: str) -> None:
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = {position for start, end in spans for position in range(start, end)}
    assert all(position in covered for position, c in enumerate(text) if c.isalnum())
    assert not any(position in covered for position, c in enumerate(text) if c.isspace())
