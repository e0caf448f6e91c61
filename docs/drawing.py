"""The style and the parts of diagrams: boxes, circles, arrows, weights and matrices as SVG, on light and dark paper."""

import math
from collections.abc import Sequence
from html import escape

from saccade.inspect.chart import DARK, LIGHT

Place = tuple[float, float]
_STYLE = (
    f""":root{{{LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}
text{{font:15px system-ui,sans-serif;fill:var(--ink);text-anchor:middle;dominant-baseline:central}}
.small{{font-size:12.5px}}.faint{{fill:var(--faint)}}.strong{{font-weight:600}}.left{{text-anchor:start}}
.box{{fill:var(--paper);stroke:currentColor;stroke-width:2}}.tint{{fill:currentColor;opacity:.1;stroke:none}}
.arrow{{fill:none;stroke:currentColor;stroke-width:1.8}}.line{{fill:none;stroke:currentColor}}
.dashed{{stroke-dasharray:5 4}}
"""
    + "".join(f".c{colour}{{color:var(--s{colour})}}" for colour in range(6))
    + ".ink{color:var(--ink)}.rule{color:var(--rule)}"
)
_COLOURS = (*(f"c{colour}" for colour in range(6)), "ink", "rule")
# One head per colour: a marker does not see the colour of its line.
_HEADS = "".join(
    f'<marker id="head-{colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path class="{colour}" d="M0 0 8 4 0 8Z" fill="currentColor"/></marker>'
    for colour in _COLOURS
)


class Diagram:
    """A drawing in pixels; colours are 0 to 5, as in charts, or "ink"."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def box(self, at: Place, text: str, *, size: Place = (64, 36), colour: int | str = "ink", note: str = "") -> Place:
        """A state or a layer, centred at a place; returns the place, for arrows. `note` is a smaller second line."""
        (x, y), (w, h) = at, size
        corner = f'x="{x - w / 2:g}" y="{y - h / 2:g}" width="{w:g}" height="{h:g}" rx="9"'
        self._parts.append(f'<g class="{_class(colour)}"><rect class="box" {corner}/><rect class="tint" {corner}/></g>')
        self.text((x, y - 8 if note else y), text)
        if note:
            self.text((x, y + 10), note, small=True, faint=True)
        return at

    def circle(self, at: Place, text: str, *, radius: float = 15, colour: int | str = "ink") -> Place:
        """An operation, such as + or softmax."""
        shape = f'<circle class="box" cx="{at[0]:g}" cy="{at[1]:g}" r="{radius:g}"/>'
        self._parts.append(f'<g class="{_class(colour)}">{shape}</g>')
        self.text(at, text, small=len(text) > 2)
        return at

    def arrow(
        self,
        start: Place,
        end: Place,
        *,
        gap: float = 20,
        start_gap: float | None = None,
        bend: float = 0,
        colour: int | str = "ink",
        dashed: bool = False,
        label: str = "",
    ) -> None:
        """From one place to another, leaving a gap around both; `bend` curves it to the left."""
        first, last = _shortened(start, end, gap if start_gap is None else start_gap, gap)
        middle = _beside(first, last, bend)
        path = f"M{first[0]:.1f} {first[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} {last[0]:.1f} {last[1]:.1f}"
        classes = f"arrow {_class(colour)}{' dashed' if dashed else ''}"
        head = f"url(#head-{_class(colour)})"
        self._parts.append(f'<path class="{classes}" marker-end="{head}" d="{path}"/>')
        if label:
            self.text(_beside(first, last, bend / 2 + 12), label, small=True)

    def weight(self, start: Place, end: Place, weight: float, *, colour: int | str = 1, gap: float = 20) -> None:
        """A line as thick as a weight between 0 and 1."""
        (x, y), (u, v) = _shortened(start, end, gap, gap)
        width = f'stroke-width="{1 + 9 * weight:.1f}" stroke-opacity="{0.25 + 0.75 * weight:.2f}"'
        path = f'd="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" stroke-linecap="round"'
        self._parts.append(f'<path class="line {_class(colour)}" {width} {path}/>')

    def text(
        self,
        at: Place,
        text: str,
        *,
        small: bool = False,
        faint: bool = False,
        strong: bool = False,
        left: bool = False,
    ) -> None:
        chosen = {"small": small, "faint": faint, "strong": strong, "left": left}
        classes = " ".join(name for name, is_on in chosen.items() if is_on)
        self._parts.append(f'<text class="{classes}" x="{at[0]:g}" y="{at[1]:g}">{escape(text)}</text>')

    def matrix(
        self,
        corner: Place,
        weights: Sequence[Sequence[float]],
        *,
        rows: Sequence[str],
        columns: Sequence[str],
        cell: float = 34,
        colour: int | str = 1,
    ) -> None:
        """Weights as shaded cells with their numbers; `corner` is the upper left one."""
        x, y = corner
        for place, name in enumerate(columns):
            self.text((x + cell * (place + 0.5), y - 12), name, small=True)
        for row, (name, line) in enumerate(zip(rows, weights, strict=True)):
            self.text((x - 22, y + cell * (row + 0.5)), name, small=True)
            for column, weight in enumerate(line):
                left, top = x + cell * column, y + cell * row
                shape = f'x="{left:g}" y="{top:g}" width="{cell - 2:g}" height="{cell - 2:g}" rx="4"'
                shade = f'<rect {shape} fill="currentColor" opacity="{0.06 + 0.6 * weight:.2f}"/>'
                self._parts.append(f'<g class="{_class(colour)}">{shade}</g>')
                self.text((left + cell / 2 - 1, top + cell / 2 - 1), f"{weight:.1f}".removeprefix("0"), small=True)

    def frame(self, corner: Place, size: Place, label: str, *, colour: int | str = "rule") -> None:
        """A dashed frame around parts that belong together, with its label above."""
        shape = f'x="{corner[0]:g}" y="{corner[1]:g}" width="{size[0]:g}" height="{size[1]:g}" rx="12"'
        self._parts.append(f'<g class="{_class(colour)}"><rect class="line dashed" stroke-width="1.5" {shape}/></g>')
        self.text((corner[0] + size[0] / 2, corner[1] - 12), label, small=True, faint=True)

    def svg(self) -> str:
        box = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        paper = f'<rect width="{self.width:g}" height="{self.height:g}" fill="var(--paper)"/>'
        parts = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{escape(self.title)}">'
            f"<style>{_STYLE}</style><defs>{_HEADS}</defs>{paper}\n{parts}\n</svg>\n"
        )


def _class(colour: int | str) -> str:
    return f"c{colour}" if isinstance(colour, int) else colour


def _shortened(start: Place, end: Place, at_start: float, at_end: float) -> tuple[Place, Place]:
    (x, y), (u, v) = start, end
    length = math.dist(start, end) or 1.0
    dx, dy = (u - x) / length, (v - y) / length
    return (x + at_start * dx, y + at_start * dy), (u - at_end * dx, v - at_end * dy)


def _beside(start: Place, end: Place, distance: float) -> Place:
    """The middle between two places, moved to the left of the way from one to the other."""
    (x, y), (u, v) = start, end
    length = math.dist(start, end) or 1.0
    return (x + u) / 2 + distance * (v - y) / length, (y + v) / 2 - distance * (u - x) / length
