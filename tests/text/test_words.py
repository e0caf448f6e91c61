from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.text import letters_by_script
from saccade.text.words import TextUnit, UnitChoice, choose_unit, word_spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The well-known dog sleeps.", ["The", "well-known", "dog", "sleeps", "."]),
        ("l'homme n’a pas 3.5 euros", ["l'", "homme", "n’", "a", "pas", "3.5", "euros"]),
        ("You're sure they don’t? It's O'Brien's", ["You're", "sure", "they", "don’t", "?", "It's", "O'Brien's"]),
        (
            "the dogs' rock'n'roll, y'all: all's well",
            ["the", "dogs'", "rock'n'roll", ",", "y'all", ":", "all's", "well"],
        ),
        (
            "Aujourd'hui j'ai vu l’homme qu'il aime",
            ["Aujourd'hui", "j'", "ai", "vu", "l’", "homme", "qu'", "il", "aime"],
        ),
        ("quelqu'un d'autre, jusqu'à l'11", ["quelqu'un", "d'", "autre", ",", "jusqu'", "à", "l'", "11"]),
        ("c'est-à-dire un chef-d'œuvre", ["c'", "est-à-dire", "un", "chef-d'œuvre"]),
        ("dell'arte, un'amica, c'è un po'", ["dell'", "arte", ",", "un'", "amica", ",", "c'", "è", "un", "po'"]),
        ("п'ять foto's c'hoant", ["п'ять", "foto's", "c'hoant"]),
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
def test_words_are_found_in_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@settings(deadline=None, max_examples=200)
@given(st.text())
def test_word_spans_are_in_order_and_cover_every_letter(text: str) -> None:
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = {position for start, end in spans for position in range(start, end)}
    assert all(position in covered for position, c in enumerate(text) if c.isalnum())
    assert not any(position in covered for position, c in enumerate(text) if c.isspace())


def test_letters_are_counted_by_script() -> None:
    assert letters_by_script("Привет, world! 42") == {"CYRILLIC": 6, "LATIN": 5}
    assert letters_by_script("東京タワーへ") == {"CJK": 2, "KATAKANA": 2, "KATAKANA-HIRAGANA": 1, "HIRAGANA": 1}
    assert letters_by_script("Ａｂ ㎞ é हिन्दी") == {"LATIN": 3, "DEVANAGARI": 3}
    assert letters_by_script("123 …") == {}


@pytest.mark.parametrize(
    ("by", "characters", "source_words", "expected"),
    [
        ("auto", False, [4], "word"),
        ("auto", False, [1], "piece"),  # all attention would be on that word
        ("auto", False, [1, 1, 2], "word"),  # one unit for all of them
        ("auto", False, [1, 1], "piece"),
        ("auto", False, [0], "word"),
        ("auto", False, [], "word"),
        ("auto", True, [4], "piece"),
        ("word", True, [1], "word"),
        ("piece", False, [4], "piece"),
    ],
)
def test_attention_is_shown_between_the_chosen_units(
    by: UnitChoice, characters: bool, source_words: list[int], expected: TextUnit
) -> None:
    assert choose_unit(by, characters=characters, source_words=source_words) == expected
