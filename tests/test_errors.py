from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import printable


def test_terminal_control_characters_are_escaped() -> None:
    assert printable("a\x1b[2Jb\x9b31m\x07\x7f") == "a\\x1b[2Jb\\x9b31m\\x07\\x7f"
    assert printable("one\nline\r\ttab\u2028") == "one\\nline\\r\\ttab\\u2028"
    assert printable("a\u202etxt.exe\u2066\ud800") == "a\\u202etxt.exe\\u2066\\ud800"
    assert printable("two\nlines\x1b", keep="\n") == "two\nlines\\x1b"


def test_printable_keeps_every_language() -> None:
    for text in ("où est-il\xa0?", "我\u3000爱你", "می\u200cخواهم", "אני\u200f!", "👩\u200d🚀", "naïve cafe\u0301"):
        assert printable(text) == text


@given(st.text(st.characters()))
def test_printable_text_can_be_encoded_and_is_stable(text: str) -> None:
    shown = printable(text)
    assert shown.encode().decode() == shown == printable(shown) and "\x1b" not in shown
