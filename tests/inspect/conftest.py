"""Fonts that do not depend on the machine: matplotlib's own, and one made here."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib import font_manager

HAN = "我爱你们源句译文权重"  # with the labels of a heatmap


@pytest.fixture
def only_default_font(monkeypatch: pytest.MonkeyPatch) -> None:
    default = [entry for entry in font_manager.fontManager.ttflist if entry.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", default)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)


@pytest.fixture
def han_font(tmp_path: Path) -> Path:
    """A font with a triangle for each character of `HAN`."""
    glyphs = {ord(char): f"g{ord(char)}" for char in HAN}
    names = [".notdef", *glyphs.values()]
    pen = import_module("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((500, 0))
    pen.lineTo((250, 700))
    pen.closePath()
    shape = pen.glyph()
    builder = import_module("fontTools.fontBuilder").FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(glyphs)
    builder.setupGlyf(dict.fromkeys(names, shape))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Test Han", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    path = tmp_path / "han.ttf"
    builder.save(path)
    return path


@pytest.fixture
def install(only_default_font: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """install(font): the file exists, but is missing from the list of matplotlib."""

    def put(font: Path) -> None:
        monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [str(font)])

    return put
