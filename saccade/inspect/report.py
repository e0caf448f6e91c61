"""A report as one HTML file that opens from disk, offline, without JavaScript; all text is escaped.

report = Report("Attention and length")
report.table("Scores", ["model", "BLEU"], [["fixed context", 41.2], ["attention", 96.8]])
report.save("report.html")
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.align.attention import PairAttention
from saccade.align.weights import weight_matrix
from saccade.errors import UserError
from saccade.files import write_atomically
from saccade.inspect.cells import percent, steps
from saccade.inspect.chart import Interval, interval_chart, line_chart
from saccade.inspect.page import escaped, page, shown
from saccade.text.words import TextUnit, UnitChoice

Cell = str | float | None
_NUMBER = re.compile(r"[+\-−\[]?\d[\d.,]*(\s|$)")
MOST_DRAWN: Mapping[TextUnit, int] = {"word": 30, "piece": 60}  # rows or columns of a legible heatmap
_LEGENDS: Mapping[TextUnit, str] = {
    "word": "Rows are target words, columns source words",
    "piece": "Rows are pieces of the target, columns pieces of the source (▁ is a space)",
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target, the value that was reached, and whether it is enough."""

    claim: str
    reached: Cell
    met: bool


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The output of one system for a sentence, with a heatmap of its attention or the reason why there is none."""

    name: str
    text: str
    score: str = ""
    weights: object | None = None  # (T, S)
    source: Sequence[str] = ()  # words, or tokens
    target: Sequence[str] = ()
    unit: TextUnit = "word"
    reason: str = ""

    @classmethod
    def of_attention(
        cls,
        name: str,
        score: str,
        text: str,
        attention: PairAttention | None,
        by: UnitChoice = "auto",
        reason: str = "",
    ) -> "Panel":
        """`reason` is for a system without attention."""
        if attention is None:
            return cls(name=name, score=score, text=text, reason=reason)
        unit = attention.unit(by)
        source, target = attention.units(unit)
        most = MOST_DRAWN[unit]
        if not (0 < len(target) <= most and 0 < len(source) <= most):
            sizes = f"{len(source)} {unit}s to {len(target)}"
            return cls(
                name=name, score=score, text=text, weights=None, reason=f"No heatmap: {sizes}; 1 to {most} are drawn."
            )
        weights = attention.weights(by=unit)
        return cls(name=name, score=score, text=text, weights=weights, source=source, target=target, unit=unit)


@dataclass(frozen=True, kw_only=True)
class ComparedSentence:
    """A sentence with its reference, and the panels of all systems."""

    source: str
    reference: str
    panels: Sequence[Panel]


class Report:
    """Sections in the order of the calls; every method takes the section's heading first."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._sections: list[str] = []

    def text(self, heading: str, text: str) -> None:
        """Add paragraphs, which are separated by blank lines in the text."""
        self._add(heading, "".join(f"<p>{_inline(paragraph)}</p>" for paragraph in text.split("\n\n")))

    def table(
        self, heading: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], note: str = "", folded: str = ""
    ) -> None:
        """Add a table. Numbers have four digits and are right-aligned; None is a dash. `folded` is the summary of a
        folded table."""
        for number, row in enumerate(rows):
            if len(row) != len(columns):
                raise ValueError(f"row {number} of '{heading}' must have {len(columns)} cells, got {len(row)}")
        table = _table(columns, rows)
        if folded:
            table = f"<details><summary>{_inline(folded)}</summary>{table}</details>"
        self._add(heading, table + _note(note))

    def targets(self, heading: str, targets: Sequence[Target]) -> None:
        verdicts = {True: '<td class="met">✓ met</td>', False: '<td class="unmet">✗ not met</td>'}
        rows = "".join(f"<tr>{_cell(t.claim)}{_cell(t.reached)}{verdicts[t.met]}</tr>" for t in targets)
        head = "<tr><th>target</th><th>reached</th><th>met</th></tr>"
        self._add(heading, _scroll(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"))

    def lines(
        self,
        heading: str,
        labels: Sequence[str],
        lines: Mapping[str, Sequence[float | None]],
        *,
        x: str,
        y: str,
        counts: Sequence[int] | None = None,
        beyond: Sequence[bool] | None = None,
        note: str = "",
    ) -> None:
        """Add a chart with one line per system over the same labels (None is a gap), and a folded table of them.

        `counts` are shown beneath the labels; `beyond` marks lengths beyond those in training.
        """
        chart = line_chart(labels, lines, x=x, y=y, counts=counts, beyond=beyond)
        columns = [x, *lines, *(["n"] if counts is not None else [])]
        series: list[Sequence[Cell]] = [labels, *lines.values(), *([counts] if counts is not None else [])]
        figures = _table(columns, list(zip(*series, strict=True)))
        details = f"<details><summary>The figures of this chart</summary>{figures}</details>"
        self._add(heading, f"<figure>{chart}{details}{_note(note)}</figure>")

    def intervals(self, heading: str, rows: Mapping[str, Interval], *, x: str, note: str = "") -> None:
        """Add a chart with one row per system: the mean, its interval, and the value of each run."""
        self._add(heading, f"<figure>{interval_chart(rows, x=x)}{_note(note)}</figure>")

    def heatmap(
        self,
        heading: str,
        weights: object,
        source: Sequence[str],
        target: Sequence[str],
        note: str = "",
        unit: TextUnit = "word",
    ) -> None:
        """Add weights (T, S) in percent, target rows by source columns; the full number is shown on hover."""
        table = _heat(weights, source, target)
        caption = f"{_inline(note)} {_legend([unit])}"
        self._add(heading, f"<figure>{_scroll(table)}<figcaption>{caption}</figcaption></figure>")

    def sentences(self, heading: str, sentences: Sequence[ComparedSentence], note: str = "") -> None:
        """Add, for each sentence, the outputs of all systems with their heatmaps side by side."""
        articles = []
        for sentence in sentences:
            texts = (("source", sentence.source), ("reference", sentence.reference))
            items = "".join(f'<dt>{name}</dt><dd dir="auto" lang="">{escaped(t)}</dd>' for name, t in texts if t)
            panels = "".join(map(_panel, sentence.panels))
            articles.append(f'<article><dl class="example">{items}</dl><div class="beside">{panels}</div></article>')
        units = [panel.unit for sentence in sentences for panel in sentence.panels if panel.weights is not None]
        legend = f'<p class="note">{_legend(units)}</p>' if units else ""
        self._add(heading, f"{_note(note)}{legend}{''.join(articles)}")

    def provenance(self, heading: str, values: Mapping[str, object]) -> None:
        """Add the result of `saccade.provenance.provenance()`: values, or mappings of values, by name."""
        rows: list[tuple[str, Cell]] = []
        for name, value in values.items():
            inner = value.items() if isinstance(value, Mapping) else [("", value)]
            rows += [(f"{name} {key}".strip().replace("_", " "), None if v is None else str(v)) for key, v in inner]
        self._add(heading, _table(["name", "value"], rows))

    def html(self) -> str:
        return page(escaped(self.title), "\n".join(self._sections))

    def save(self, path: str | Path) -> None:
        """Write the file atomically."""
        path = Path(path)
        try:
            write_atomically(path, self.html())
        except OSError as error:
            raise UserError(f"{path}: cannot write the report: {error.strerror}") from None

    def _add(self, heading: str, body: str) -> None:
        self._sections.append(f"<section><h2>{_inline(heading)}</h2>\n{body}</section>")


def _table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    numeric = [_is_numeric([row[place] for row in rows]) for place in range(len(columns))]
    head = "".join(
        f'<th scope="col"{" class=number" * number}>{_inline(column)}</th>'
        for column, number in zip(columns, numeric, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(_cell(value, number=number) for value, number in zip(row, numeric, strict=True))}</tr>"
        for row in rows
    )
    return _scroll(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _is_numeric(column: Sequence[Cell]) -> bool:
    """Numbers may also be formatted text such as 93.1 ± 0.4."""
    filled = [cell for cell in column if cell is not None]
    return any(isinstance(cell, int | float) for cell in filled) or (
        bool(filled) and all(_NUMBER.match(str(cell)) for cell in filled)
    )


def _legend(units: Iterable[TextUnit]) -> str:
    rows = ", or: ".join(_LEGENDS[unit] for unit in sorted(set(units)))
    return (
        f"{rows}; numbers are percent. The weights show where the model read; they are not by themselves an "
        "explanation of what it wrote."
    )


def _heat(weights: object, source: Sequence[str], target: Sequence[str]) -> str:
    matrix = weight_matrix(weights, targets=len(target), sources=len(source))
    colours = steps(matrix)
    head = "".join(f'<th scope="col">{_token(token)}</th>' for token in source)
    rows = []
    for row, token in enumerate(target):
        cells = [
            f'<td class="w{colours[row, column]}" title="{escaped(token)} ← {escaped(read)}: {weight:.4f}">'
            f"{percent(weight)}</td>"
            for column, (read, weight) in enumerate(zip(source, matrix[row], strict=True))
        ]
        rows.append(f'<tr><th scope="row">{_token(token)}</th>{"".join(cells)}</tr>')
    return f'<table class="heat"><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _panel(panel: Panel) -> str:
    caption = f'<strong>{_inline(panel.name)}</strong> <span class="note">{_inline(panel.score)}</span>'
    text = f'<p dir="auto" lang="">{escaped(panel.text)}</p>'
    figure = _note(panel.reason)
    if panel.weights is not None:
        figure = _scroll(_heat(panel.weights, panel.source, panel.target))
    return f"<figure><figcaption>{caption}{text}</figcaption>{figure}</figure>"


def _cell(value: Cell, *, number: bool = False) -> str:
    return f"<td{' class=number' * number}>{_inline(shown(value))}</td>"


def _scroll(table: str) -> str:
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _note(note: str) -> str:
    return f'<p class="note">{_inline(note)}</p>' if note else ""


def _token(token: str) -> str:
    return f'<bdi lang="">{escaped(token)}</bdi>'  # lang="": the language is unknown


def _inline(text: str) -> str:
    return f"<bdi>{escaped(text)}</bdi>"
