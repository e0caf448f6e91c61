"""Whatever is wrong with a text, reading it raises a ValueError."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.files import DEEPEST, parse_json, parse_toml

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(VALUES)
@settings(deadline=None, max_examples=100)
def test_json_survives_a_round_trip(value: Any) -> None:
    assert parse_json(json.dumps(value)) == parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.text('[]{}",:\\ud8c0 1e-x\n=') | st.binary())
@settings(deadline=None, max_examples=300)
def test_parsers_raise_nothing_but_value_errors(text: str | bytes) -> None:
    with contextlib.suppress(ValueError):
        json.dumps(parse_json(text), ensure_ascii=False).encode()
    with contextlib.suppress(ValueError):
        parse_toml(text if isinstance(text, str) else text.decode("utf-8", "replace"))


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")], ids=["lists", "tables"])
def test_parsers_limit_the_depth(opening: str, closing: str) -> None:
    def nested(depth: int) -> str:
        return opening * depth + "1" + closing * depth

    assert parse_json(nested(DEEPEST))
    for depth in (DEEPEST + 1, 900, 5_000, 100_000):
        with pytest.raises(ValueError, match="more than 100 lists or tables inside each other"):
            parse_json(nested(depth))
    assert len(parse_json("[" + ", ".join(["[1]"] * 1_000) + "]")) == 1_000


def test_half_a_surrogate_pair_is_refused() -> None:
    for text in (r'"\ud800"', r'{"\uDFFF": 1}', r'["\ude00\ud83d"]'):
        with pytest.raises(ValueError, match=r"\\ud\w{3} is half of a surrogate pair"):
            parse_json(text)
    assert parse_json(r'"\ud83d\ude00"') == "😀"
    assert parse_json(r'"\\ud800"') == r"\ud800"
    with pytest.raises(ValueError, match="utf-8"):
        parse_json(b'"\xed\xa0\x80"')
