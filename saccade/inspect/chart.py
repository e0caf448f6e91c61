"""Line charts and interval charts as inline SVG; colours come from the style of the page."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from saccade.inspect.cells import escaped, shown

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


class Interval(NamedTuple):
    """A mean with its interval, and the values that it is the mean of."""

    mean: float
    low: float
    high: float
    each: Sequence[float] = ()


def interval_chart(rows: Mapping[str, Interval], *, x: str) -> str:
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
        hint = f"{name}: {shown(row.mean)}, interval {shown(row.low)} to {shown(row.high)}"
        parts.append(f'<text x="0" y="{y}" dy=".35em">{escaped(label)}</text>')
        bar = f'<path class="bar" d="M{across(row.low):.1f} {y}H{across(row.high):.1f}"/>'
        strokes = "".join(f"M{across(value):.1f} {y - 8}v16" for value in row.each)
        dot = f'<g class="dot" transform="translate({across(row.mean):.1f} {y})">{_MARKERS[style]}</g>'
        each = f'<path class="each" d="{strokes}"/>'
        parts.append(f'<g class="s{style}"><title>{escaped(hint)}</title>{bar}{each}{dot}</g>')
    parts.append(f'<text class="mid" x="{(_NAMES + _WIDTH) / 2:.1f}" y="{floor + 37}">{escaped(x)}</text>')
    return _drawing(floor + 42, f"{escaped(x)}, with intervals", parts)


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
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    known = [value for values in lines.values() for value in values if value is not None]
    ticks, height = _scale(known, floor, _TOP, ", or None for a gap")
    slot = (right - _LEFT) / max(len(labels), 1)
    xs = [_LEFT + slot * (place + 0.5) for place in range(len(labels))]
    parts = [
        f'<rect class="beyond" x="{_LEFT + slot * place:.1f}" y="{_TOP}" width="{slot:.1f}" height="{floor - _TOP}"/>'
        for place, is_beyond in enumerate(beyond or ())
        if is_beyond
    ]
    if parts:
        parts.append(f'<text class="end faint" x="{right}" y="{_TOP - 10}">shaded: longer than any in training</text>')
    for tick in ticks:
        at = f"{height(tick):.1f}"
        parts.append(f'<path class="grid" d="M{_LEFT} {at}H{right}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 8}" y="{at}" dy=".35em">{tick:g}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{right}"/>')
    parts.append(f'<text x="{_LEFT - 40}" y="{_TOP - 10}">{escaped(y)}</text>')
    for place, label in enumerate(labels):
        parts.append(f'<text class="mid" x="{xs[place]:.1f}" y="{floor + 18}">{escaped(label)}</text>')
        if counts is not None:
            parts.append(f'<text class="mid faint" x="{xs[place]:.1f}" y="{floor + 35}">n = {counts[place]}</text>')
    parts.append(f'<text class="mid" x="{(_LEFT + right) / 2:.1f}" y="{_HEIGHT - 8}">{escaped(x)}</text>')
    for index, (name, values) in enumerate(lines.items()):
        points = [
            None if value is None else (f"{at:.1f} {height(value):.1f}", f"{name}, {label}: {shown(value)}")
            for at, value, label in zip(xs, values, labels, strict=True)
        ]
        parts.append(_line(index % len(_MARKERS), points))
    return _legend(list(lines)) + _drawing(_HEIGHT, f"{escaped(y)} by {escaped(x)}", parts)


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
        swatch = (
            f'<path class="line" {_DASHES[style]} d="M0 0H36"/><g transform="translate(18 0)">{_MARKERS[style]}</g>'
        )
        sample = f'<svg class="s{style}" viewBox="-2 -7 40 14" width="40" height="14" aria-hidden="true">{swatch}</svg>'
        entries.append(f"<li>{sample} <bdi>{escaped(name)}</bdi></li>")
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _drawing(height: int, label: str, parts: Sequence[str]) -> str:
    svg = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f'<div class="scroll" tabindex="0"><div class="chart">{svg}</div></div>'


def _scale(
    values: Sequence[float], start: float, end: float, hint: str = ""
) -> tuple[list[float], Callable[[float], float]]:
    """The ticks of an axis from `start` to `end`, and a function from a value to its place."""
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"a value of a chart must be finite{hint}")
    ticks = _ticks(min(values, default=0.0), max(values, default=1.0))
    return ticks, lambda value: start + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (end - start)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers at equal, round distances, from at most 0 to at least `high`."""
    low, high = min(low, 0.0), max(high, 0.0)
    rough = (high - low) / 5 or 0.2
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (power, 2 * power, 2.5 * power, 5 * power, 10 * power) if step >= rough * 0.999)
    first, last = math.floor(low / step), max(math.ceil(high / step - 1e-9), 1)
    return [round(step * place, 10) for place in range(first, last + 1)]
