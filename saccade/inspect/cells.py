"""The look of a token, a number and a weight, the same in the terminal, in figures and in reports."""

from html import escape

import numpy as np
from numpy.typing import NDArray

from saccade.align.links import Matrix

# cividis (Nuñez, Anderton & Renslow 2018), readable by the colour-blind and in grey, in 21 equal steps.
# fmt: off
CIVIDIS = (
    "#00224e", "#002b62", "#083370", "#243c6e", "#35456c", "#434e6c", "#4f576c",
    "#5b606e", "#666970", "#727274", "#7d7c78", "#888578", "#948e77", "#a19975",
    "#aea371", "#bcae6c", "#c8b866", "#d6c35d", "#e5cf52", "#f3db42", "#fee838",
)
# fmt: on
_BLACK_INK_FROM = 10  # from this step on, black has more contrast than white
_JOINERS = "\u200c\u200d"  # invisible, but Persian words and emoji are built with them


def scale(matrix: Matrix) -> tuple[float, float]:
    """The weights at the two ends of the colours: 0 and 1, so that figures compare, or wider if needed."""
    return min(0.0, matrix.min(initial=0.0)), max(1.0, matrix.max(initial=1.0))


def steps(matrix: Matrix) -> NDArray[np.int64]:
    """The index of each weight's colour in `CIVIDIS`."""
    low, high = scale(matrix)
    return np.rint((matrix - low) / (high - low) * (len(CIVIDIS) - 1)).astype(np.int64)


def ink(step: int) -> str:
    """The colour of a number on this background, with a contrast of at least 4.5."""
    return "#000000" if step >= _BLACK_INK_FROM else "#ffffff"


def percent(weight: float) -> str:
    """A weight in whole percent; empty for 0, so that the others stand out."""
    number = f"{100 * weight:.0f}"
    return "" if number in ("0", "-0") else number


def visible(token: str) -> str:
    """Write out invisible characters, such as controls and unusual spaces."""
    return "".join(
        char if char.isprintable() or char in _JOINERS else char.encode("unicode_escape").decode() for char in token
    )


def escaped(text: str) -> str:
    return escape(visible(text))


def shown(value: str | float | None) -> str:
    """Format a value of a table or a chart: four digits and never an exponent; a dash for None."""
    if not isinstance(value, float):
        return "–" if value is None else str(value)
    if 0 < abs(value) < 1e-4:
        return f"{value:.4f}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
