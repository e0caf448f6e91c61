"""A font for every label, wherever it is installed; or a line about what to install."""

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib import font_manager

from saccade.inspect.fonts import drawable


def test_a_font_that_matplotlib_has_listed_is_found(
    only_default_font: None, han_font: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = font_manager.FontEntry(fname=str(tmp_path / "gone.ttf"), name="A CJK Font That Is Gone")
    here = font_manager.FontEntry(fname=str(han_font), name="Test Han")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist, gone, here])
    assert drawable(["我爱你", "a", "们"]) == (["我爱你", "a", "们"], [str(han_font), None, str(han_font)], None)


def test_a_font_installed_after_matplotlib_made_its_list_is_found(
    han_font: Path, install: Callable[[Path], None], tmp_path: Path
) -> None:
    install(han_font)
    assert drawable(["我", "b"]) == (["我", "b"], [str(han_font), None], None)
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    install(broken)
    assert drawable(["我"]).fonts == [None]


def test_a_label_that_no_single_font_has_is_numbered_where_the_default_lacks_it(
    han_font: Path, install: Callable[[Path], None]
) -> None:
    install(han_font)
    labels, fonts, note = drawable(["我a", "我"])
    assert (labels, fonts) == (["U+6211a", "我"], [None, str(han_font)])
    assert note is not None and "我" in note


@pytest.mark.parametrize(
    ("text", "named", "font"),
    [
        ("我爱你们大家好", "我, 爱, 你, 们, 大 and 2 more", "Noto Sans CJK"),
        ("ねこ", "ね, こ", "fonts-noto-cjk"),
        ("नमस्ते", "न, म, स", "Noto Sans Devanagari"),
        ("\U0001fae0", "\U0001fae0", "one of the Noto fonts"),
    ],
)
def test_a_missing_font_is_named(only_default_font: None, text: str, named: str, font: str) -> None:
    labels, fonts, note = drawable([text])
    assert fonts == [None] and all("U+" in label for label in labels)
    assert note is not None and named in note and font in note and "\n" not in note


def test_nothing_is_said_where_nothing_is_missing(only_default_font: None) -> None:
    assert drawable(["Größe", "кот", "▁"]) == (["Größe", "кот", "▁"], [None, None, None], None)
