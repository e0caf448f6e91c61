"""Line charts and interval charts as inline SVG; colours come from the style of the page."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from saccade.inspect.page import escaped, shown

_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 26, 66
_DASHES = ("", "8 4", "2 4", "10 3 2 3", "5 2", "1 3")
# Lines differ by marker and dashes as well as by colour.
MARKERS = (
    '<circle r="4.5"/>',
    '<path d="M-4-4H4V4H-4Z"/>',
    '<path d="M0-6 6 0 0 6-6 0Z"/>',
    '<path d="M0-5.5 5.5 4.5H-5.5Z"/>',
    '<path d="M0 5.5 5.5-4.5H-5.5Z"/>',
    '<path d="M-5-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z"/>',
)
LINE_STYLES = len(MARKERS)
_ROW, _NAMES, _LETTERS = (
    34,
    190,
    24,
)  # of an interval chart: the height of a row, the width of names, and the characters that fit


class Interval(NamedTuple):
    """A mean with its interval, and the values that it is the mean of."""

    mean: float
    low: float
    high: float
    each: Sequence[float] = ()


def interval_chart(rows: Mapping[str, Interval], *, x: str) -> str:
    """Draw one row per name: the interval as a bar, the mean as a marker, and each value as a stroke."""
    values = [value for row in rows.values() for value in (*row[:3], *row.each)]
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a value of a chart must be finite")
    ticks = _ticks(min(values, default=0.0), max(values, default=1.0))
    floor = 8 + _ROW * len(rows)

    def across(value: float) -> float:
        return _NAMES + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (_WIDTH - _NAMES - 2 * _RIGHT)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {floor + 42}" role="img" aria-label="{escaped(x)}, with intervals">']
    for tick in ticks:
        at = f"{across(tick):.1f}"
        parts.append(f'<path class="grid" d="M{at} 4V{floor}"/>')
        parts.append(f'<text class="mid" x="{at}" y="{floor + 18}">{tick:g}</text>')
    for index, (name, row) in enumerate(rows.items()):
        y, style = 8 + _ROW * (index + 0.5), index % LINE_STYLES
        label = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        hint = f"{name}: {shown(row.mean)}, interval {shown(row.low)} to {shown(row.high)}"
        parts.append(f'<text x="0" y="{y}" dy=".35em">{escaped(label)}</text>')
        bar = f'<path class="bar" d="M{across(row.low):.1f} {y}H{across(row.high):.1f}"/>'
        strokes = "".join(f"M{across(value):.1f} {y - 8}v16" for value in row.each)
        dot = f'<g class="dot" transform="translate({across(row.mean):.1f} {y})">{MARKERS[style]}</g>'
        each = f'<path class="each" d="{strokes}"/>'
        parts.append(f'<g class="s{style}"><title>{escaped(hint)}</title>{bar}{each}{dot}</g>')
    parts.append(f'<text class="mid" x="{(_NAMES + _WIDTH) / 2:.1f}" y="{floor + 37}">{escaped(x)}</text></svg>')
    return f'<div class="scroll" tabindex="0"><div class="chart">{"".join(parts)}</div></div>'


def line_chart(
    labels: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    *,
    x: str,
    y: str,
    counts: Sequence[int] | None = None,
    beyond: Sequence[bool] | None = None,
) -> str:
    """Draw one line per name over the same `labels`; None is a gap. `counts` are shown below the labels, and `beyond`
    shades lengths beyond those in training."""
    for name, column in {**lines, "counts": counts, "beyond": beyond}.items():
        if column is not None and len(column) != len(labels):
            raise ValueError(f"'{name}' must have one value per label: expected {len(labels)}, got {len(column)}")
    known = [value for values in lines.values() for value in values if value is not None]
    if not all(math.isfinite(value) for value in known):
        raise ValueError("a value of a chart must be finite, or None for a gap")
    ticks = _ticks(min(known, default=0.0), max(known, default=1.0))
    slot = (_WIDTH - _LEFT - _RIGHT) / max(len(labels), 1)
    xs = [_LEFT + slot * (place + 0.5) for place in range(len(labels))]
    floor = _HEIGHT - _BOTTOM

    def height(value: float) -> float:
        return floor - (value - ticks[0]) / (ticks[-1] - ticks[0]) * (floor - _TOP)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escaped(y)} by {escaped(x)}">']
    parts += _beyond(beyond or (), slot, floor)
    for tick in ticks:
        at = f"{height(tick):.1f}"
        parts.append(f'<path class="grid" d="M{_LEFT} {at}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{at}" dy=".35em">{tick:g}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{_WIDTH - _RIGHT}"/>')
    parts.append(f'<text x="{_LEFT - 40}" y="{_TOP - 10}">{escaped(y)}</text>')
    for place, label in enumerate(labels):
        parts.append(f'<text class="mid" x="{xs[place]:.1f}" y="{floor + 18}">{escaped(label)}</text>')
        if counts is not None:
            parts.append(f'<text class="mid faint" x="{xs[place]:.1f}" y="{floor + 35}">n = {counts[place]}</text>')
    parts.append(f'<text class="mid" x="{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}" y="{_HEIGHT - 8}">{escaped(x)}</text>')
    for index, (name, values) in enumerate(lines.items()):
        points = [None if value is None else (at, height(value)) for at, value in zip(xs, values, strict=True)]
        titles = [f"{name}, {label}: {shown(value)}" for label, value in zip(labels, values, strict=True)]
        parts.append(_line(index, points, titles))
    parts.append("</svg>")
    return f'{_legend(list(lines))}<div class="scroll" tabindex="0"><div class="chart">{"".join(parts)}</div></div>'


def _line(index: int, points: Sequence[tuple[float, float] | None], titles: Sequence[str]) -> str:
    style, path, pen = index % LINE_STYLES, [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        path.append(f"{pen}{point[0]:.1f} {point[1]:.1f}")
        pen = "L"
    markers = [
        f'<g class="dot" transform="translate({point[0]:.1f} {point[1]:.1f})"><title>{escaped(title)}</title>'
        f"{MARKERS[style]}</g>"
        for point, title in zip(points, titles, strict=True)
        if point is not None
    ]
    return f'<g class="s{style}"><path class="line" {_dash(style)} d="{"".join(path)}"/>{"".join(markers)}</g>'


def _legend(names: Sequence[str]) -> str:
    entries = []
    for index, name in enumerate(names):
        style = index % LINE_STYLES
        swatch = f'<path class="line" {_dash(style)} d="M0 0H36"/><g transform="translate(18 0)">{MARKERS[style]}</g>'
        sample = f'<svg class="s{style}" viewBox="-2 -7 40 14" width="40" height="14" aria-hidden="true">{swatch}</svg>'
        entries.append(f"<li>{sample} <bdi>{escaped(name)}</bdi></li>")
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _beyond(beyond: Sequence[bool], slot: float, floor: int) -> list[str]:
    parts = [
        f'<rect class="beyond" x="{_LEFT + slot * place:.1f}" y="{_TOP}" width="{slot:.1f}" height="{floor - _TOP}"/>'
        for place, flag in enumerate(beyond)
        if flag
    ]
    if parts:
        place = f'x="{_WIDTH - _RIGHT}" y="{_TOP - 10}"'
        parts.append(f'<text class="end faint" {place}>shaded: longer than any in training</text>')
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers at equal, round distances, from at most 0 to at least `high`."""
    low, high = min(low, 0.0), max(high, 0.0)
    rough = (high - low) / 5 or 0.2
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if step >= rough * 0.999)
    first, last = math.floor(low / step), max(math.ceil(high / step - 1e-9), 1)
    return [round(step * place, 10) for place in range(first, last + 1)]


def _dash(style: int) -> str:
    return f'stroke-dasharray="{_DASHES[style]}"' if _DASHES[style] else ""
