"""Heatmaps of weights, target rows by source columns: in the terminal with rich, as a figure with matplotlib."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from saccade.align.weights import weight_matrix
from saccade.errors import UserError
from saccade.inspect.cells import CIVIDIS, ink, percent, scale, steps, visible
from saccade.inspect.fonts import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBER = 4  # cells of the terminal: three digits and a shade
_SHADES, _ASCII_SHADES = " ░▒▓█", " .:+#"


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
    say: Callable[[str], None] | None = None,
) -> "Axes":
    """Draw weights (T, S) with every token as a label, on `ax` or on a new figure with a colour bar.

    A character that no installed font has is drawn as its code point, such as U+6211 for 我, and `say` gets a line with
    the font to install; without `say`, this is a warning.
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
    if note is not None and say is not None:
        say(note)
    elif note is not None:
        warnings.warn(note, stacklevel=2)
    columns, rows = [_stacked(label) for label in labels[: len(source)]], labels[len(source) :]
    fresh = ax is None
    if ax is None:
        # Inches per column, per row and per character of a label (source labels are vertical), and margins.
        width = 0.36 * len(columns) + 0.11 * max(map(cell_len, rows)) + 2
        height = 0.3 * len(rows) + 0.11 * max(map(cell_len, columns)) + 1.2
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    low, high = scale(matrix)
    image = ax.imshow(matrix, cmap="cividis", vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.set_xlabel("source")
    ax.set_ylabel("target")
    for text, font in zip((*ax.get_xticklabels(), *ax.get_yticklabels()), fonts, strict=True):
        text.set_parse_math(False)  # a $ is an ordinary token
        if font:
            text.set_fontproperties(FontProperties(fname=font, size=text.get_fontsize()))
    for text in ax.get_xticklabels():
        text.set_rotation(0 if max(map(cell_len, text.get_text().split("\n"))) <= 2 else 90)
    if fresh:
        ax.figure.colorbar(image, ax=ax, label="weight")
    return ax


def _stacked(label: str) -> str:
    """Put wide characters one below the other, as they are written in a column; leave other labels unchanged."""
    return "\n".join(label) if cell_len(label) == 2 * len(label) else label


def html_heatmap(weights: object, source: Sequence[str], target: Sequence[str]) -> str:
    """A table of weights (T, S), with inline styles, which also shows where a page's styles are stripped."""
    matrix = weight_matrix(weights, targets=len(target), sources=len(source))
    upright = "writing-mode:vertical-rl;font-weight:400"
    head = "".join(f'<th style="{upright}">{escape(visible(token))}</th>' for token in source)
    rows = []
    for token, row, colours in zip(target, matrix, steps(matrix), strict=True):
        cells = (
            f'<td style="background:{CIVIDIS[colour]};color:{ink(colour)};text-align:center">{percent(weight)}</td>'
            for weight, colour in zip(row, colours.tolist(), strict=True)
        )
        rows.append(f'<tr><th style="text-align:right">{escape(visible(token))}</th>{"".join(cells)}</tr>')
    return f"<table><tr><td></td>{head}</tr>{''.join(rows)}</table>"
