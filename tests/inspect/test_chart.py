import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.inspect.chart import Chart, Interval, Spot, _ticks, interval_chart, line_chart, scatter_chart
from saccade.language import either_in

LABELS = ["1–5", "6–10", "11–20"]


def drawing(chart: Chart) -> ElementTree.Element:
    svg = re.search(r'<div class="chart">(<svg.*</svg>)</div>', chart.html(), re.DOTALL)
    assert svg
    return ElementTree.fromstring(svg[1])


def test_every_point_is_drawn_with_its_number() -> None:
    svg = drawing(
        line_chart(LABELS, {"fixed": [80.0, 40.0, 10.5], "attention": [97.0, 96.0, 95.0]}, x="words", y="BLEU")
    )
    titles = [title.text for title in svg.iter("title")]
    assert len(titles) == 6
    assert "fixed, 11–20: 10.5" in titles


def test_higher_values_are_drawn_higher() -> None:
    svg = drawing(line_chart(LABELS, {"a": [0.0, 50.0, 100.0]}, x="x", y="y"))
    line = next(path for path in svg.iter("path") if path.get("class") == "line")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line.get("d", ""))]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
    assert heights[0] > heights[2]


def test_intervals_and_runs_share_one_scale() -> None:
    rows = {"one": Interval(50.0, 40.0, 60.0, (45.0, 55.0)), "a name that is much too long": Interval(25.0, 0.0, 100.0)}
    svg = drawing(interval_chart(rows, x="BLEU"))
    bars = [path.get("d", "") for path in svg.iter("path") if path.get("class") == "bar"]
    (low, high), (zero, hundred) = (map(float, re.findall(r"[MH]([\d.]+)", bar)) for bar in bars)
    assert (high - low) / (hundred - zero) == pytest.approx(0.2, abs=0.01) and low > zero
    strokes = next(path.get("d", "") for path in svg.iter("path") if path.get("class") == "each")
    assert strokes.count("M") == 2
    titles = [title.text for title in svg.iter("title")]
    assert titles == ["one: 50, interval 40 to 60", "a name that is much too long: 25, interval 0 to 100"]
    assert "a name that is much too…" in [text.text for text in svg.iter("text")]
    with pytest.raises(ValueError, match="finite"):
        interval_chart({"a": Interval(float("nan"), 0.0, 1.0)}, x="x")


def test_a_missing_value_breaks_the_line() -> None:
    svg = drawing(line_chart(LABELS, {"a": [1.0, None, 3.0]}, x="x", y="y"))
    line = next(path for path in svg.iter("path") if path.get("class") == "line")
    assert line.get("d", "").count("M") == 2
    assert len(list(svg.iter("title"))) == 2


def test_counts_and_untrained_lengths_are_marked() -> None:
    svg = drawing(
        line_chart(LABELS, {"a": [1.0, 2.0, 3.0]}, x="x", y="y", counts=[7, 8, 9], beyond=[False, False, True])
    )
    texts = [text.text for text in svg.iter("text")]
    assert {"n = 7", "n = 8", "n = 9", *LABELS} <= set(texts)
    assert len([rect for rect in svg.iter("rect") if rect.get("class") == "beyond"]) == 1
    assert any("longer than any in training" in (text or "") for text in texts)
    explained = line_chart(LABELS, {"a": [1.0, 2.0, 3.0]}, x="x", y="y", beyond=[True] * 3, either=either_in("zh"))
    assert "阴影部分：比训练中最长的句子更长" in {text.text for text in drawing(explained).iter("text")}


def test_many_lines_and_unusual_names_are_drawn() -> None:
    chart = line_chart(["<a>"], {f"<b>&{n}": [float(n)] for n in range(9)}, x='"x"', y="'y'")
    assert len(list(drawing(chart).iter("title"))) == 9
    assert "<b>" not in chart.html()


@pytest.mark.parametrize(
    ("lines", "counts", "message"),
    [({"a": [1.0]}, None, "'a' must have one value per label: expected 3, got 1"), ({}, [1], "'counts'")],
)
def test_uneven_lines_are_refused(lines: dict[str, list[float | None]], counts: list[int] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        line_chart(LABELS, lines, x="x", y="y", counts=counts)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        line_chart(["a"], {"a": [float("nan")]}, x="x", y="y")


@settings(deadline=None, max_examples=200)
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_ticks_span_the_values_and_zero(first: float, second: float) -> None:
    low, high = sorted((first, second))
    ticks = _ticks(low, high)
    margin = 1e-6 * (high - low) + 1e-9
    assert ticks[0] <= min(low, 0) + margin
    assert ticks[-1] >= max(high, 0) - margin
    assert 0 in ticks
    assert 2 <= len(ticks) <= 8


def test_intervals_of_lines_are_bands() -> None:
    values = [Interval(2.0, 1.0, 3.0), Interval(4.0, 3.0, 5.0), None, 4.0]
    svg = drawing(line_chart(["1", "2", "3", "4"], {"a": values, "b": [1.0] * 4}, x="x", y="y"))
    (band,) = [path.get("d", "") for path in svg.iter("path") if path.get("class") == "band"]
    heights = [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", band)]
    assert len(heights) == 4 and heights[0] - heights[1] == pytest.approx(heights[3] - heights[2], abs=0.2)
    assert "a, 1: 2" in [title.text for title in svg.iter("title")]


def test_powers_of_ten_are_equally_far_apart() -> None:
    svg = drawing(line_chart(LABELS, {"a": [1e-6, 1e-3, 1.0]}, x="x", y="y", powers=True))
    line = next(path for path in svg.iter("path") if path.get("class") == "line")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line.get("d", ""))]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2) and heights[0] > heights[2]
    with pytest.raises(ValueError, match="above 0"):
        line_chart(LABELS, {"a": [1.0, 0.0, 1.0]}, x="x", y="y", powers=True)


def test_points_of_groups_are_drawn_where_they_are() -> None:
    groups = {"money": [Spot(1.0, 2.0, "bank"), Spot(-1.0, 2.0)], "river": [Spot(0.0, -2.0)]}
    svg = drawing(scatter_chart(groups, x="first", y="second"))
    places = [re.findall(r"[\d.]+", dot.get("transform", "")) for dot in svg.iter("g") if dot.get("class") == "dot"]
    (right, top), (left, _), (middle, bottom) = [(float(x), float(y)) for x, y in places]
    assert left < middle < right and top < bottom and right - middle == pytest.approx(middle - left, abs=0.2)
    assert "bank" in [text.text for text in svg.iter("text")]


def test_a_chart_is_a_file_of_its_own() -> None:
    lines = {f"a long name, number {n} <b>": [1.0, 2.0, 3.0] for n in range(5)}
    svg = ElementTree.fromstring(line_chart(LABELS, lines, x="词", y="BLEU").svg())
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {*lines, "词"} <= set(texts)
    height = float(svg.get("height", "0"))
    heights = [float(str(text.get("y"))) for text in svg.iter("{http://www.w3.org/2000/svg}text") if text.text in lines]
    assert len(set(heights)) > 1 and max(heights) < height  # the legend takes several lines, inside the drawing
