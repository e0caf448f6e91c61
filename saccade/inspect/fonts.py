"""Fonts for the labels of a figure: a font that has all characters of a label, or else the name of one to install."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from saccade.text.words import script

# Fonts with Chinese, Japanese and Korean, by name or by file; they are tried before the others.
_CJK_FONT = re.compile(
    "CJK|Han ?Sans|WenQuanYi|wqy|PingFang|Hiragino|YaHei|msyh|SimHei|Heiti|Fallback|Arial ?Unicode", re.IGNORECASE
)
_CJK_SCRIPTS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
_NAMED = 5  # missing characters in a note, at most


class Drawable(NamedTuple):
    labels: list[str]  # a character that no font has is written as its code point, such as U+6211 for 我
    fonts: list[str | None]  # the file of a font for each label; None: the default font
    note: str | None  # which font to install; None: nothing is missing


def drawable(texts: Sequence[str]) -> Drawable:
    """Matplotlib notices a missing character only when it draws the figure, so it is never given one."""
    default = _characters_of(_default_file())
    labels, fonts = list(texts), list[str | None]([None] * len(texts))
    lacking = [place for place, label in enumerate(labels) if not _codes(label) <= default]
    for path in _font_files() if lacking else ():
        has = _characters_of(path)
        for place in [place for place in lacking if _codes(labels[place]) <= has]:
            fonts[place] = path
            lacking.remove(place)
        if not lacking:
            break
    missing = dict.fromkeys(char for place in lacking for char in labels[place] if ord(char) not in default)
    for place in lacking:
        labels[place] = "".join(char if ord(char) in default else f"U+{ord(char):04X}" for char in labels[place])
    return Drawable(labels, fonts, _note(list(missing)) if missing else None)


def _default_file() -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return str(findfont(FontProperties()))


def _font_files() -> Iterator[str]:
    """The fonts in matplotlib's cached list, then the fonts installed since; the most likely ones first in each."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    listed = {str(entry.fname): str(entry.name) for entry in fontManager.ttflist}
    yield from _most_likely_first(listed.items())
    installed = (str(path) for path in findSystemFonts())
    yield from _most_likely_first((path, Path(path).name) for path in installed if path not in listed)


def _most_likely_first(named: Iterable[tuple[str, str]]) -> list[str]:
    return [path for path, _ in sorted(named, key=lambda font: (not _CJK_FONT.search(font[1]), font[1], font[0]))]


def _characters_of(path: str) -> frozenset[int]:
    """The characters of a font file; none if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (OSError, RuntimeError):  # removed since it was listed, or broken
        return frozenset()
    if font.family_name.startswith("Last Resort"):  # it has a box for every character
        return frozenset()
    return frozenset(font.get_charmap())


def _note(missing: Sequence[str]) -> str:
    named = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
    scripts = [name for name in map(script, missing) if name]
    if any(name in _CJK_SCRIPTS for name in scripts):
        font = "Noto Sans CJK (on Debian and Ubuntu: apt install fonts-noto-cjk)"
    else:
        font = f"Noto Sans {scripts[0].title()}" if scripts else "one of the Noto fonts"
    return f"no installed font has {named}, so code points are drawn instead; install a font such as {font}"


def _codes(text: str) -> set[int]:
    return {ord(char) for char in text}
