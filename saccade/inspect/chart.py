"""Charts as SVG: lines, intervals and points, as a part of a page or as a file of its own, on light and dark paper."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len

from saccade.inspect.cells import escaped, shown
from saccade.language import IN_ENGLISH, Either

_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 26, 66
_ROW, _NAMES, _LETTERS = 34, 190, 24  # of an interval chart: a row's height, a name's width and most characters
# Lines differ by marker and dashes as well as by colour.
_DASHES = ("", *(f'stroke-dasharray="{dash}"' for dash in ("8 4", "2 4", "10 3 2 3", "5 2", "1 3")))
_MARKERS = (
    '<circle r="4.5"/>',
    '<path d="M-4-4H4V4H-4Z"/>',
    '<path d="M0-6 6 0 0 6-6 0Z"/>',
    '<path d="M0-5.5 5.5 4.5H-5.5Z"/>',
    '<path d="M0 5.5 5.5-4.5H-5.5Z"/>',
    '<path d="M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z"/>',
)

# Line colours after Okabe & Ito (distinct for the colour-blind), each with a contrast of 3 or more.
LIGHT = """--paper:#fff;--ink:#1b1f24;--faint:#59626d;--rule:#d5dae0;--shade:#f1f3f6;--met:#00664a;
--unmet:#a83c00;--s0:#0072b2;--s1:#c85200;--s2:#008560;--s3:#b0527f;--s4:#8a6d00;--s5:#444b54"""
DARK = """--paper:#14171b;--ink:#e6e9ed;--faint:#a2abb6;--rule:#39414b;--shade:#1e2329;
--met:#4fd1a5;--unmet:#ff9d66;--s0:#5ab8f0;--s1:#ff8a4a;--s2:#3ccf9e;--s3:#ea9cc6;--s4:#e0c040;--s5:#c3cad3"""
STYLE = """.chart text{fill:var(--ink);font:13px system-ui,sans-serif}
.chart text.faint{fill:var(--faint);font-size:12px}
.mid{text-anchor:middle}.end{text-anchor:end}.grid{stroke:var(--rule)}.axis{stroke:var(--ink);fill:none}
.beyond{fill:var(--shade);shape-rendering:crispEdges}.line{fill:none;stroke:currentColor;stroke-width:2.5}
.band{fill:currentColor;opacity:.16;stroke:none}
.bar{fill:none;stroke:currentColor;stroke-width:7;stroke-linecap:round;opacity:.35}
.each{fill:none;stroke:currentColor;stroke-width:1.5}
.s0,.s1,.s2,.s3,.s4,.s5{fill:currentColor}.dot path,.dot circle{stroke:var(--paper)}
.s0{color:var(--s0)}.s1{color:var(--s1)}.s2{color:var(--s2)}.s3{color:var(--s3)}.s4{color:var(--s4)}.s5{color:var(--s5)}
"""
_PALETTE = f":root{{{LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}"
_LETTER, _SWATCH, _LINE = (
    7.3,
    54,
    22,
)  # of a legend: the width of a letter, the width before a name, the height of a line


class Interval(NamedTuple):
    """A mean with its interval, and the values that it is the mean of."""

    mean: float
    low: float
    high: float
    each: Sequence[float] = ()


Value = float | Interval | None


@dataclass(frozen=True)
class Chart:
    height: int
    label: str  # what it shows, escaped
    parts: Sequence[str]  # of the drawing
    names: Sequence[str] = ()  # of the lines

    def html(self) -> str:
        """For a page with STYLE and the colours: the legend is a list above the drawing."""
        box = f'viewBox="0 0 {_WIDTH} {self.height}" role="img" aria-label="{self.label}"'
        drawing = f"<svg {box}>{''.join(self.parts)}</svg>"
        legend = _legend(self.names) if self.names else ""
        return f'{legend}<div class="scroll" tabindex="0"><div class="chart">{drawing}</div></div>'

    def svg(self) -> str:
        """A file of its own, with the legend below the drawing."""
        entries = list(_place_legend(self.names))
        bottom = max((y for _, y, _ in entries), default=0)
        legend = "".join(
            f'<g class="s{style % len(_MARKERS)}" transform="translate({x:.0f} {self.height + y})">'
            f'<svg x="0" y="-7" width="40" height="14" viewBox="-2 -7 40 14">{_swatch(style)}</svg></g>'
            f'<text x="{x + 46:.0f}" y="{self.height + y}" dy=".35em">{escaped(name)}</text>'
            for style, (x, y, name) in enumerate(entries)
        )
        height = self.height + bottom + (_LINE if entries else 0)
        paper = f'<rect width="{_WIDTH}" height="{height}" fill="var(--paper)"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-label="{self.label}">'
            f"<style>{_PALETTE}\n{STYLE}</style>{paper}{''.join(self.parts)}{legend}</svg>\n"
        )


def interval_chart(rows: Mapping[str, Interval], *, x: str, either: Either = IN_ENGLISH) -> Chart:
    """Draw one row per name: the interval as a bar, the mean as a marker, and each value as a stroke."""
    values = [value for row in rows.values() for value in (*row[:3], *row.each)]
    ticks, across = _scale(values, _NAMES, _WIDTH - 2 * _RIGHT)
    floor = 8 + _ROW * len(rows)
    parts = []
    for tick in ticks:
        at = f"{across(tick):.1f}"
        parts.append(f'<path class="grid" d="M{at} 4V{floor}"/>')
        parts.append(f'<text class="mid" x="{at}" y="{floor + 18}">{tick:g}</text>')
    for index, (name, row) in enumerate(rows.items()):
        y, style = 8 + _ROW * (index + 0.5), index % len(_MARKERS)
        label = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        mean, low, high = shown(row.mean), shown(row.low), shown(row.high)
        hint = either(f"{name}: {mean}, interval {low} to {high}", f"{name}：{mean}，区间为 {low} 至 {high}")
        parts.append(f'<text x="0" y="{y}" dy=".35em">{escaped(label)}</text>')
        bar = f'<path class="bar" d="M{across(row.low):.1f} {y}H{across(row.high):.1f}"/>'
        strokes = "".join(f"M{across(value):.1f} {y - 8}v16" for value in row.each)
        dot = f'<g class="dot" transform="translate({across(row.mean):.1f} {y})">{_MARKERS[style]}</g>'
        each = f'<path class="each" d="{strokes}"/>'
        parts.append(f'<g class="s{style}"><title>{escaped(hint)}</title>{bar}{each}{dot}</g>')
    parts.append(f'<text class="mid" x="{(_NAMES + _WIDTH) / 2:.1f}" y="{floor + 37}">{escaped(x)}</text>')
    return Chart(floor + 42, escaped(either(f"{x}, with intervals", f"{x}及其区间")), parts)


def line_chart(
    labels: Sequence[str],
    lines: Mapping[str, Sequence[Value]],
    *,
    x: str,
    y: str,
    counts: Sequence[int] | None = None,
    beyond: Sequence[bool] | None = None,
    powers: bool = False,
    either: Either = IN_ENGLISH,
) -> Chart:
    """Draw one line per name over the same `labels`; None is a gap, and intervals are a band around their means.
    `counts` are shown below the labels, `beyond` shades lengths beyond those in training, and with `powers` the
    vertical axis has powers of ten. `either` chooses the language of the words that the chart itself adds."""
    for name, column in {**lines, "counts": counts, "beyond": beyond}.items():
        if column is not None and len(column) != len(labels):
            raise ValueError(f"'{name}' must have one value per label: expected {len(labels)}, got {len(column)}")
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    known = [bound for values in lines.values() for value in values if value is not None for bound in _bounds(value)]
    ticks, height = (_powers if powers else _scale)(known, floor, _TOP, ", or None for a gap")
    slot = (right - _LEFT) / max(len(labels), 1)
    xs = [_LEFT + slot * (place + 0.5) for place in range(len(labels))]
    parts = [
        f'<rect class="beyond" x="{_LEFT + slot * place:.1f}" y="{_TOP}" width="{slot:.1f}" height="{floor - _TOP}"/>'
        for place, is_beyond in enumerate(beyond or ())
        if is_beyond
    ]
    if parts:
        note = either("shaded: longer than any in training", "阴影部分：比训练中最长的句子更长")
        parts.append(f'<text class="end faint" x="{right}" y="{_TOP - 10}">{note}</text>')
    for tick in ticks:
        at = f"{height(tick):.1f}"
        parts.append(f'<path class="grid" d="M{_LEFT} {at}H{right}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{at}" dy=".35em">{tick:g}</text>')
    parts += _axes(y)
    for place, label in enumerate(labels):
        parts.append(f'<text class="mid" x="{xs[place]:.1f}" y="{floor + 18}">{escaped(label)}</text>')
        if counts is not None:
            parts.append(f'<text class="mid faint" x="{xs[place]:.1f}" y="{floor + 35}">n = {counts[place]}</text>')
    parts.append(f'<text class="mid" x="{(_LEFT + right) / 2:.1f}" y="{_HEIGHT - 8}">{escaped(x)}</text>')
    for index, (name, values) in enumerate(lines.items()):
        points = [
            None
            if value is None
            else (f"{at:.1f} {height(_mean(value)):.1f}", f"{name}, {label}: {shown(_mean(value))}")
            for at, value, label in zip(xs, values, labels, strict=True)
        ]
        parts.append(_band(index % len(_MARKERS), list(zip(xs, values, strict=True)), height))
        parts.append(_line(index % len(_MARKERS), points))
    return Chart(_HEIGHT, escaped(either(f"{y} by {x}", f"{y}随{x}的变化")), parts, list(lines))


class Spot(NamedTuple):
    x: float
    y: float
    label: str = ""  # shown beside it


def scatter_chart(groups: Mapping[str, Sequence[Spot]], *, x: str, y: str, either: Either = IN_ENGLISH) -> Chart:
    """Draw the points of each group with the marker of the group."""
    points = [point for group in groups.values() for point in group]
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    columns, across = _scale([point.x for point in points], _LEFT, right)
    rows, height = _scale([point.y for point in points], floor, _TOP)
    parts = [*_axes(y), f'<text class="mid" x="{(_LEFT + right) / 2:.1f}" y="{_HEIGHT - 8}">{escaped(x)}</text>']
    parts += [f'<text class="mid" x="{across(tick):.1f}" y="{floor + 18}">{tick:g}</text>' for tick in columns]
    parts += [f'<text class="end" x="{_LEFT - 8}" y="{height(tick):.1f}" dy=".35em">{tick:g}</text>' for tick in rows]
    for index, (name, group) in enumerate(groups.items()):
        style = index % len(_MARKERS)
        dots = "".join(
            f'<g class="dot" transform="translate({across(point.x):.1f} {height(point.y):.1f})">'
            f"<title>{escaped(f'{name} {point.label}'.strip())}</title>{_MARKERS[style]}</g>"
            for point in group
        )
        labels = "".join(
            f'<text x="{across(point.x) + 7:.1f}" y="{height(point.y):.1f}" dy=".35em">{escaped(point.label)}</text>'
            for point in group
            if point.label
        )
        parts.append(f'<g class="s{style}">{dots}</g>{labels}')
    return Chart(_HEIGHT, escaped(either(f"{y} by {x}", f"{y}与{x}")), parts, list(groups))


def _axes(y: str) -> list[str]:
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    return [
        f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{right}"/>',
        f'<text x="{_LEFT - 40}" y="{_TOP - 10}">{escaped(y)}</text>',
    ]


def _mean(value: float | Interval) -> float:
    return value.mean if isinstance(value, Interval) else value


def _bounds(value: float | Interval) -> tuple[float, float]:
    return (value.low, value.high) if isinstance(value, Interval) else (value, value)


def _band(style: int, points: Sequence[tuple[float, Value]], height: Callable[[float], float]) -> str:
    """The area between the lower and upper bounds, where neighbouring values have intervals."""
    between = [(at, value) for at, value in points if isinstance(value, Interval)]
    if len(between) < 2:
        return ""
    above = " ".join(f"{at:.1f} {height(value.high):.1f}" for at, value in between)
    below = " ".join(f"{at:.1f} {height(value.low):.1f}" for at, value in reversed(between))
    return f'<g class="s{style}"><path class="band" d="M{above} {below}Z"/></g>'


def _line(style: int, points: Sequence[tuple[str, str] | None]) -> str:
    """A line through points, each with its title; None is a gap."""
    path, markers, pen = "", "", "M"
    for point in points:
        if point is not None:
            path += pen + point[0]
            markers += f'<g class="dot" transform="translate({point[0]})"><title>{escaped(point[1])}</title>'
            markers += f"{_MARKERS[style]}</g>"
        pen = "M" if point is None else "L"
    return f'<g class="s{style}"><path class="line" {_DASHES[style]} d="{path}"/>{markers}</g>'


def _legend(names: Sequence[str]) -> str:
    entries = []
    for index, name in enumerate(names):
        style = index % len(_MARKERS)
        sample = (
            f'<svg class="s{style}" viewBox="-2 -7 40 14" width="40" height="14" aria-hidden="true">'
            f"{_swatch(index)}</svg>"
        )
        entries.append(f"<li>{sample} <bdi>{escaped(name)}</bdi></li>")
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _swatch(index: int) -> str:
    style = index % len(_MARKERS)
    marker = f'<g transform="translate(18 0)">{_MARKERS[style]}</g>'
    return f'<path class="line" {_DASHES[style]} d="M0 0H36"/>{marker}'


def _place_legend(names: Sequence[str]) -> Iterator[tuple[float, int, str]]:
    """Where each entry of a legend below the drawing goes, in as many lines as are needed."""
    x, y = float(_LEFT), _LINE // 2
    for name in names:
        width = _SWATCH + _LETTER * cell_len(name)
        if x > _LEFT and x + width > _WIDTH:
            x, y = float(_LEFT), y + _LINE
        yield x, y, name
        x += width + 12


def _scale(
    values: Sequence[float], start: float, end: float, hint: str = ""
) -> tuple[list[float], Callable[[float], float]]:
    """The ticks of an axis from `start` to `end`, and a function from a value to its place."""
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"a value of a chart must be finite{hint}")
    ticks = _ticks(min(values, default=0.0), max(values, default=1.0))
    return ticks, lambda value: start + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (end - start)


def _powers(
    values: Sequence[float], start: float, end: float, hint: str = ""
) -> tuple[list[float], Callable[[float], float]]:
    """The same for an axis of powers of ten."""
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError(f"a value on an axis of powers must be finite and above 0{hint}")
    first = math.floor(math.log10(min(values, default=1.0)))
    last = max(math.ceil(math.log10(max(values, default=1.0))), first + 1)
    step = -(-(last - first) // 6)
    ticks = [10.0**power for power in range(first, last + 1, step)]
    return ticks, lambda value: start + (math.log10(value) - first) / (last - first) * (end - start)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers at equal, round distances, from at most 0 to at least `high`."""
    low, high = min(low, 0.0), max(high, 0.0)
    rough = (high - low) / 5 or 0.2
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if step >= rough * 0.999)
    first, last = math.floor(low / step), max(math.ceil(high / step - 1e-9), 1)
    return [round(step * place, 10) for place in range(first, last + 1)]
