"""Heatmaps of weights, target rows by source columns: in the terminal with rich, as a figure with matplotlib, as HTML.

Matplotlib notices a missing character only when it draws, so each label of a figure gets a font that has all of its
characters, or else code points and a note with the font to install.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from saccade.align.links import weight_matrix
from saccade.errors import UserError
from saccade.inspect.cells import CIVIDIS, escaped, ink, percent, scale, steps, visible
from saccade.language import Bilingual, Language
from saccade.text.words import script

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text as Label

SIDES = (Bilingual(en="source", zh="源句"), Bilingual(en="target", zh="译文"))  # the columns and the rows of a heatmap
_WEIGHT = Bilingual(en="weight", zh="权重")
_NUMBER = 4  # cells of the terminal: three digits and a shade
_SHADES, _ASCII_SHADES = " ░▒▓█", " .:+#"
# Fonts with Chinese, Japanese and Korean, by name or by file; they are tried before the others.
_CJK_FONT = re.compile(
    "CJK|Han ?Sans|WenQuanYi|wqy|PingFang|Hiragino|YaHei|msyh|SimHei|Heiti|Fallback|Arial ?Unicode", re.IGNORECASE
)
_CJK_SCRIPTS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
_NAMED = 5  # missing characters in a note, at most


def terminal_heatmap(
    weights: object, source_tokens: Sequence[str], target_tokens: Sequence[str], console: Console | None = None
) -> None:
    """Print weights (T, S) in whole percent on colours, or with block shades where there is no colour.

    Columns that do not fit into the terminal continue in a further panel below.
    """
    console = console or Console()
    matrix = weight_matrix(weights, targets=len(target_tokens), sources=len(source_tokens))
    colours = steps(matrix)
    coloured = console.color_system is not None and not console.no_color
    shades = _ASCII_SHADES if console.options.ascii_only else _SHADES
    sources, targets = [visible(token) for token in source_tokens], [visible(token) for token in target_tokens]
    widths = [max(cell_len(token), _NUMBER) for token in sources]
    margin = max(map(cell_len, targets), default=0)
    for number, columns in enumerate(_panels(widths, console.width - margin)):
        header = " ".join(_right(sources[column], widths[column]) for column in columns)
        lines = [Text(" " * (margin + 1) + header)]
        for row, target in enumerate(targets):
            line = Text(_right(target, margin))
            for column in columns:
                step, text = int(colours[row, column]), percent(matrix[row, column])
                line.append(" ")
                if coloured:
                    line.append(f"{text:>{widths[column]}}", Style(color=ink(step), bgcolor=CIVIDIS[step]))
                else:
                    shade = shades[-(-step * (len(shades) - 1) // (len(CIVIDIS) - 1))]
                    line.append(shade * (widths[column] - _NUMBER + 1) + f"{text:>{_NUMBER - 1}}")
            lines.append(line)
        # soft_wrap: rich leaves the lines unchanged, so that even a token wider than the terminal is printed in full.
        console.print(Text("\n" if number else "") + Text("\n").join(lines), soft_wrap=True)


def _panels(widths: Sequence[int], room: int) -> Iterator[range]:
    """Split the columns into panels that fit into `room`, with a space before each column."""
    first, used = 0, 0
    for column, width in enumerate(widths):
        if column > first and used + 1 + width > room:
            yield range(first, column)
            first, used = column, 0
        used += 1 + width
    yield range(first, len(widths))


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def plot_heatmap(
    weights: object,
    source: Sequence[str],
    target: Sequence[str],
    ax: "Axes | None" = None,
    *,
    sides: tuple[Bilingual, Bilingual] | None = SIDES,
    language: Language = "en",
    say: Callable[[str], None] | None = None,
) -> "Axes":
    """Draw weights (T, S) with every token as a label, on `ax` or on a new figure with a colour bar.

    `sides` name the columns and the rows. A character that no installed font has is drawn as its code point, such as
    U+6211 for 我, and `say` gets a line with the font to install; without `say`, this is a warning.
    """
    try:
        from matplotlib import pyplot
        from matplotlib.font_manager import FontProperties
    except ImportError:
        raise UserError("figures need matplotlib: pip install matplotlib") from None

    matrix = weight_matrix(weights, targets=len(target), sources=len(source))
    if not matrix.size:
        raise ValueError(f"weights must have at least one target and one source, got {matrix.shape}")
    labels, fonts, note = drawable([visible(token) for token in (*source, *target)])
    if note is not None:
        _tell(note, say)
    columns, rows = [_stacked(label) for label in labels[: len(source)]], labels[len(source) :]
    low, high = scale(matrix)
    is_new = ax is None
    if ax is None:
        # Inches per column, per row and per character of a label (source labels are vertical), and margins.
        width = 0.36 * len(columns) + 0.11 * max(map(cell_len, rows)) + 2
        height = 0.3 * len(rows) + 0.11 * max(map(cell_len, columns)) + 1.2
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    image = ax.imshow(matrix, cmap="cividis", vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    names = (*(sides or ()), *((_WEIGHT,) if is_new else ()))
    language = drawable_language(names, language, say)
    if sides is not None:
        write_label(ax.xaxis.label, sides[0].within(language))
        write_label(ax.yaxis.label, sides[1].within(language))
    for text, font in zip((*ax.get_xticklabels(), *ax.get_yticklabels()), fonts, strict=True):
        text.set_parse_math(False)  # a $ is an ordinary token
        if font:
            text.set_fontproperties(FontProperties(fname=font, size=text.get_fontsize()))
    for text in ax.get_xticklabels():
        text.set_rotation(0 if max(map(cell_len, text.get_text().split("\n"))) <= 2 else 90)
    if is_new:
        write_label(ax.figure.colorbar(image, ax=ax).ax.yaxis.label, _WEIGHT.within(language))
    return ax


def drawable_language(
    words: Iterable[Bilingual], language: Language, say: Callable[[str], None] | None = None
) -> Language:
    """`language` if there is a font for each of the words; else English, and `say` gets the font to install."""
    _, _, note = drawable([each.within(language) for each in words], instead="labels are English")
    if note is None:
        return language
    _tell(note, say)
    return "en"


def write_label(label: "Label", words: str) -> None:
    """Set the words of a label, in a font that has them."""
    from matplotlib.font_manager import FontProperties

    (text,), (font,), _ = drawable([words])
    label.set_text(text)
    if font:
        label.set_fontproperties(FontProperties(fname=font, size=label.get_fontsize()))


def _tell(note: str, say: Callable[[str], None] | None) -> None:
    if say is None:
        warnings.warn(note, stacklevel=3)
    else:
        say(note)


def _stacked(label: str) -> str:
    """Put wide characters one below the other, as they are written in a column; leave other labels unchanged."""
    return "\n".join(label) if cell_len(label) == 2 * len(label) else label


def drawable(
    texts: Sequence[str], *, instead: str = "code points are drawn"
) -> tuple[list[str], list[str | None], str | None]:
    """The labels to draw, in which a code point such as U+6211 stands for a character that no font has; the file of a
    font for each label (None: the default font); and which font to install (None: nothing is missing)."""
    from matplotlib.font_manager import FontProperties, findfont

    default = _characters_of(str(findfont(FontProperties())))
    labels, fonts = list(texts), list[str | None]([None] * len(texts))
    lacking = {place: characters for place, label in enumerate(labels) if not (characters := set(label)) <= default}
    for path in _font_files() if lacking else ():
        in_font = _characters_of(path)
        for place in [place for place, characters in lacking.items() if characters <= in_font]:
            fonts[place] = path
            del lacking[place]
        if not lacking:
            break
    missing = list(dict.fromkeys(char for place in lacking for char in labels[place] if char not in default))
    for place in lacking:
        labels[place] = "".join(char if char in default else f"U+{ord(char):04X}" for char in labels[place])
    return labels, fonts, _note(missing, instead) if missing else None


def _font_files() -> Iterator[str]:
    """The fonts in matplotlib's cached list, then the fonts installed since; the most likely ones first in each."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    def most_likely_first(names: Iterable[tuple[str, str]]) -> list[str]:
        return [path for path, _ in sorted(names, key=lambda font: (not _CJK_FONT.search(font[1]), font[1], font[0]))]

    listed = {str(entry.fname): str(entry.name) for entry in fontManager.ttflist}
    yield from most_likely_first(listed.items())
    installed = (str(path) for path in findSystemFonts())
    yield from most_likely_first((path, Path(path).name) for path in installed if path not in listed)


def _characters_of(path: str) -> frozenset[str]:
    """The characters of a font file; none if it cannot be read."""
    from matplotlib.font_manager import get_font

    try:
        font = get_font(path)
    except (OSError, RuntimeError):  # removed since it was listed, or broken
        return frozenset()
    has_boxes = font.family_name.startswith("Last Resort")  # one for every character
    return frozenset() if has_boxes else frozenset(map(chr, font.get_charmap()))


def _note(missing: Sequence[str], instead: str) -> str:
    characters = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
    scripts = [name for name in map(script, missing) if name]
    font = f"Noto Sans {scripts[0].title()}" if scripts else "one of the Noto fonts"
    if not _CJK_SCRIPTS.isdisjoint(scripts):
        font = "Noto Sans CJK (on Debian and Ubuntu: apt install fonts-noto-cjk)"
    return f"no installed font has {characters}, so {instead} instead; install a font such as {font}"


def html_heatmap(weights: object, source: Sequence[str], target: Sequence[str]) -> str:
    """A table of weights (T, S), with inline styles, which also shows where a page's styles are stripped."""
    matrix = weight_matrix(weights, targets=len(target), sources=len(source))
    upright = "writing-mode:vertical-rl;font-weight:400"
    head = "".join(f'<th style="{upright}">{escaped(token)}</th>' for token in source)
    rows = []
    for token, row, colours in zip(target, matrix, steps(matrix), strict=True):
        cells = (
            f'<td style="background:{CIVIDIS[colour]};color:{ink(colour)};text-align:center">{percent(weight)}</td>'
            for weight, colour in zip(row, colours.tolist(), strict=True)
        )
        rows.append(f'<tr><th style="text-align:right">{escaped(token)}</th>{"".join(cells)}</tr>')
    return f"<table><tr><td></td>{head}</tr>{''.join(rows)}</table>"
