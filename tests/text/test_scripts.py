from saccade.text import letters_by_script


def test_letters_are_counted_by_script() -> None:
    assert letters_by_script("Привет, world! 42") == {"CYRILLIC": 6, "LATIN": 5}
    assert letters_by_script("東京タワーへ") == {"CJK": 2, "KATAKANA": 2, "KATAKANA-HIRAGANA": 1, "HIRAGANA": 1}
    assert letters_by_script("Ａｂ ㎞ é हिन्दी") == {"LATIN": 3, "DEVANAGARI": 3}
    assert letters_by_script("123 …") == {}
