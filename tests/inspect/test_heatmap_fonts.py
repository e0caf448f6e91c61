"""A font for every label, or a note about the font to install."""

from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib import font_manager, pyplot

from saccade.inspect.heatmap import drawable, plot_heatmap


def test_a_font_in_the_list_of_matplotlib_is_found(
    only_default_font: None, han_font: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = font_manager.FontEntry(fname=str(tmp_path / "gone.ttf"), name="A CJK Font That Is Gone")
    here = font_manager.FontEntry(fname=str(han_font), name="Test Han")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*font_manager.fontManager.ttflist, gone, here])
    assert drawable(["我爱你", "a", "们"]) == (["我爱你", "a", "们"], [str(han_font), None, str(han_font)], None)


def test_a_font_missing_from_the_list_of_matplotlib_is_found(
    han_font: Path, install: Callable[[Path], None], tmp_path: Path
) -> None:
    install(han_font)
    assert drawable(["我", "b"]) == (["我", "b"], [str(han_font), None], None)
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"no font")
    install(broken)
    assert drawable(["我"])[1] == [None]


def test_a_label_that_needs_two_fonts_uses_code_points(han_font: Path, install: Callable[[Path], None]) -> None:
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
def test_the_note_names_a_font_to_install(only_default_font: None, text: str, named: str, font: str) -> None:
    labels, fonts, note = drawable([text])
    assert fonts == [None] and all("U+" in label for label in labels)
    assert note is not None and named in note and font in note and "\n" not in note


def test_there_is_no_note_if_no_character_is_missing(only_default_font: None) -> None:
    assert drawable(["Größe", "кот", "▁"]) == (["Größe", "кот", "▁"], [None, None, None], None)


def test_chinese_labels_are_drawn_with_a_font_that_has_them(han_font: Path, install: Callable[[Path], None]) -> None:
    install(han_font)
    axes = plot_heatmap([[1.0]], ["a"], ["b"], language="zh")
    labels = [axes.xaxis.label, axes.yaxis.label, axes.figure.axes[1].yaxis.label]
    assert [label.get_text() for label in labels] == ["源句", "译文", "权重"]
    assert {label.get_fontproperties().get_file() for label in labels} == {str(han_font)}
    axes.figure.canvas.draw()  # matplotlib would warn of a missing character
    pyplot.close()


def test_without_a_chinese_font_labels_are_english_with_one_note(only_default_font: None) -> None:
    notes: list[str] = []
    axes = plot_heatmap([[1.0]], ["a"], ["b"], language="zh", say=notes.append)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("source", "target")
    (note,) = notes
    assert note.startswith("no installed font has 源, 句, 译, 文, 权 and 1 more, so labels are English instead")
    assert "apt install fonts-noto-cjk" in note
    pyplot.close()
