"""A report as one HTML file that opens from disk, offline, without JavaScript; all text is escaped.

report = Report("Attention and length")
report.table("Scores", ["model", "BLEU"], [["fixed context", 41.2], ["attention", 96.8]])
report.save("report.html")
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from saccade.align.attention import PairAttention
from saccade.align.links import weight_matrix
from saccade.errors import UserError
from saccade.files import write_atomically
from saccade.inspect.cells import escaped, percent, shown, steps
from saccade.inspect.chart import Chart, Interval, interval_chart, line_chart
from saccade.inspect.page_style import PAGE_STYLE
from saccade.language import Bilingual, Language, either_in
from saccade.text.words import TextUnit, UnitChoice

Cell = str | float | None
_NUMBER = re.compile(r"[+\-−\[]?\d[\d.,]*(\s|$)")
MOST_DRAWN: Mapping[TextUnit, int] = {"word": 30, "piece": 60}  # rows or columns of a legible heatmap
_LEGENDS: Mapping[TextUnit, Bilingual] = {
    "word": Bilingual(en="Rows are target words, columns source words", zh="每行是译文的一个词，每列是源句的一个词"),
    "piece": Bilingual(
        en="Rows are pieces of the target, columns pieces of the source (▁ is a space)",
        zh="每行是译文的一个词元，每列是源句的一个词元（▁ 表示空格）",
    ),
}
_UNITS: Mapping[TextUnit, str] = {"word": "词", "piece": "词元"}
_PROVENANCE = {
    "date": "日期",
    "command": "命令",
    "seed": "随机种子",
    "commit": "代码版本",
    "machine": "机器",
    "system": "系统",
    "cores": "核数",
    "memory gib": "内存（GiB）",
    "versions": "软件版本",
}

# With this policy, the browser loads and runs nothing.
_PAGE = Template("""<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main>
<h1><bdi>$title</bdi></h1>
$body
</main>
</body>
</html>
""")


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
        by: UnitChoice,
        language: Language = "en",
    ) -> "Panel":
        if attention is None:
            return cls(name=name, score=score, text=text)
        unit = attention.unit(by)
        source, target = attention.units(unit)
        most = MOST_DRAWN[unit]
        if 0 < len(target) <= most and 0 < len(source) <= most:
            weights = attention.weights(by=unit)
            return cls(name=name, score=score, text=text, weights=weights, source=source, target=target, unit=unit)
        reason = either_in(language)(
            f"No heatmap: {len(source)} {unit}s to {len(target)}; 1 to {most} are drawn.",
            f"未画热力图：源句有 {len(source)} 个{_UNITS[unit]}，译文有 {len(target)} 个；只画 1 至 {most} 个的。",
        )
        return cls(name=name, score=score, text=text, reason=reason)


@dataclass(frozen=True, kw_only=True)
class ComparedSentence:
    """A sentence with its reference, and the panels of all systems."""

    source: str
    reference: str
    panels: Sequence[Panel]


class Report:
    """Sections in the order of the calls; every method takes the section's heading first. `language` is that of the
    words that the report itself adds, such as the head of a table of targets."""

    def __init__(self, title: str, language: Language = "en") -> None:
        self.title, self.language, self._either = title, language, either_in(language)
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
        self._add(heading, (_folded(_inline(folded), table) if folded else table) + _note(note))

    def targets(self, heading: str, targets: Sequence[Target]) -> None:
        verdicts = {
            True: f'<td class="met">✓ {self._either("met", "达到")}</td>',
            False: f'<td class="unmet">✗ {self._either("not met", "未达到")}</td>',
        }
        rows = "".join(f"<tr>{_cell(t.claim)}{_cell(t.reached)}{verdicts[t.met]}</tr>" for t in targets)
        names = (self._either("target", "目标"), self._either("reached", "实测"), self._either("met", "是否达到"))
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
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
        chart = line_chart(labels, lines, x=x, y=y, counts=counts, beyond=beyond, either=self._either).html()
        columns: list[tuple[str, Sequence[Cell]]] = [(x, labels), *lines.items()]
        if counts is not None:
            columns.append(("n", counts))
        names, series = zip(*columns, strict=True)
        figures = _table(names, list(zip(*series, strict=True)))
        folded = _folded(self._either("The figures of this chart", "图中的数值"), figures)
        self._add(heading, f"<figure>{chart}{folded}{_note(note)}</figure>")

    def intervals(self, heading: str, rows: Mapping[str, Interval], *, x: str, note: str = "") -> None:
        """Add a chart with one row per system: the mean, its interval, and the value of each run."""
        chart = interval_chart(rows, x=x, either=self._either).html()
        self._add(heading, f"<figure>{chart}{_note(note)}</figure>")

    def chart(self, heading: str, chart: Chart, note: str = "") -> None:
        """Add a chart of `saccade.inspect.chart`."""
        self._add(heading, f"<figure>{chart.html()}{_note(note)}</figure>")

    def heatmap(
        self, heading: str, weights: object, source: Sequence[str], target: Sequence[str], note: str = ""
    ) -> None:
        """Add weights (T, S) between words in percent, target rows by source columns; hover for full numbers."""
        caption = f"{_inline(note)} {self._legend(['word'])}"
        self._add(heading, f"<figure>{_heat(weights, source, target)}<figcaption>{caption}</figcaption></figure>")

    def sentences(self, heading: str, sentences: Sequence[ComparedSentence], note: str = "") -> None:
        """Add, for each sentence, the outputs of all systems with their heatmaps side by side."""
        articles = []
        for sentence in sentences:
            texts = (
                (self._either("source", "源句"), sentence.source),
                (self._either("reference", "参考译文"), sentence.reference),
            )
            items = "".join(f'<dt>{name}</dt><dd dir="auto" lang="">{escaped(t)}</dd>' for name, t in texts if t)
            panels = "".join(map(_panel, sentence.panels))
            articles.append(f'<article><dl class="example">{items}</dl><div class="beside">{panels}</div></article>')
        units = [panel.unit for sentence in sentences for panel in sentence.panels if panel.weights is not None]
        legend = f'<p class="note">{self._legend(units)}</p>' if units else ""
        self._add(heading, f"{_note(note)}{legend}{''.join(articles)}")

    def provenance(self, heading: str, values: Mapping[str, object]) -> None:
        """Add the result of `saccade.provenance.provenance()`: values, or mappings of values, by name."""
        rows: list[tuple[str, Cell]] = []
        for name, value in values.items():
            inner = value.items() if isinstance(value, Mapping) else [("", value)]
            names = {key: f"{self._known(name)} {self._known(key)}".strip() for key, _ in inner}
            rows += [(names[key], None if v is None else str(v)) for key, v in inner]
        self._add(heading, _table([self._either("name", "名称"), self._either("value", "值")], rows))

    def _known(self, name: str) -> str:
        """A name of the provenance in the report's language, if it is known."""
        name = name.replace("_", " ")
        return self._either(name, _PROVENANCE.get(name, name))

    def _legend(self, units: Iterable[TextUnit]) -> str:
        rows = self._either(", or: ", "，或者").join(
            _LEGENDS[unit].within(self.language) for unit in sorted(set(units))
        )
        return rows + self._either(
            "; numbers are percent. The weights show where the model read; they are not by themselves an explanation "
            "of what it wrote.",
            "；数字是百分比。权重表明模型读了哪里，但其本身并不能解释模型为什么这样写。",
        )

    def html(self) -> str:
        body = "\n".join(self._sections)
        return _PAGE.substitute(title=escaped(self.title), body=body, style=PAGE_STYLE, language=self.language)

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
    numeric = [_is_numeric([row[place] for row in rows if row[place] is not None]) for place in range(len(columns))]
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
    has_numbers = any(isinstance(cell, int | float) for cell in column)
    return has_numbers or (bool(column) and all(_NUMBER.match(str(cell)) for cell in column))


def _heat(weights: object, source: Sequence[str], target: Sequence[str]) -> str:
    matrix = weight_matrix(weights, targets=len(target), sources=len(source))
    head = "".join(f'<th scope="col">{_token(token)}</th>' for token in source)
    rows = ""
    for token, weights_row, colours in zip(target, matrix, steps(matrix), strict=True):
        rows += f'<tr><th scope="row">{_token(token)}</th>'
        for read, weight, colour in zip(source, weights_row, colours, strict=True):
            hint = f"{escaped(token)} ← {escaped(read)}: {weight:.4f}"
            rows += f'<td class="w{colour}" title="{hint}">{percent(weight)}</td>'
        rows += "</tr>"
    head = f"<thead><tr><td></td>{head}</tr></thead>"
    return _scroll(f'<table class="heat">{head}<tbody>{rows}</tbody></table>')


def _panel(panel: Panel) -> str:
    caption = f'<strong>{_inline(panel.name)}</strong> <span class="note">{_inline(panel.score)}</span>'
    text = f'<p dir="auto" lang="">{escaped(panel.text)}</p>'
    has_weights = panel.weights is not None
    figure = _heat(panel.weights, panel.source, panel.target) if has_weights else _note(panel.reason)
    return f"<figure><figcaption>{caption}{text}</figcaption>{figure}</figure>"


def _cell(value: Cell, *, number: bool = False) -> str:
    return f"<td{' class=number' * number}>{_inline(shown(value))}</td>"


def _folded(summary: str, table: str) -> str:
    return f"<details><summary>{summary}</summary>{table}</details>"


def _scroll(table: str) -> str:
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _note(note: str) -> str:
    return f'<p class="note">{_inline(note)}</p>' if note else ""


def _token(token: str) -> str:
    return f'<bdi lang="">{escaped(token)}</bdi>'  # lang="": the language is unknown


def _inline(text: str) -> str:
    return f"<bdi>{escaped(text)}</bdi>"
