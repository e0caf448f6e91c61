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
from saccade.inspect.cells import CIVIDIS, escaped, ink, percent, shown, steps
from saccade.inspect.chart import DARK, LIGHT, STYLE, Chart, Interval, interval_chart, line_chart
from saccade.text.words import TextUnit, UnitChoice

Cell = str | float | None
_NUMBER = re.compile(r"[+\-−\[]?\d[\d.,]*(\s|$)")
MOST_DRAWN: Mapping[TextUnit, int] = {"word": 30, "piece": 60}  # rows or columns of a legible heatmap
_LEGENDS: Mapping[TextUnit, str] = {
    "word": "Rows are target words, columns source words",
    "piece": "Rows are pieces of the target, columns pieces of the source (▁ is a space)",
}

_STYLE = (
    f""":root{{color-scheme:light dark;{LIGHT}}}
@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}
{STYLE}"""
    + """*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1.5rem 1rem 4rem;background:var(--paper);color:var(--ink);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0 1.5rem}h2{font-size:1.2rem;margin:2.5rem 0 .6rem}
p{margin:.6rem 0;max-width:42rem}figure{margin:1rem 0}figcaption,.note{color:var(--faint);font-size:.875rem}
.scroll{overflow-x:auto;max-width:100%}.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--s0)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.4rem 0}
th,td{padding:.3rem 1.2rem .3rem 0;text-align:start;vertical-align:top}
thead th{border-bottom:2px solid var(--rule);font-size:.875rem;white-space:nowrap}
tbody td,tbody th{border-bottom:1px solid var(--rule);font-weight:400}
td.number,th.number{text-align:end;white-space:nowrap}
.met{color:var(--met);font-weight:600;white-space:nowrap}.unmet{color:var(--unmet);font-weight:600;white-space:nowrap}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.4rem;padding:0;margin:.4rem 0}
.legend svg{vertical-align:middle}
.chart{min-width:30rem;max-width:46rem}.chart svg{display:block;width:100%;height:auto}
table.heat{border-collapse:separate;border-spacing:1px}
.heat th,.heat td{border:0;padding:0 .2rem;line-height:1.6rem}
.heat thead th{writing-mode:vertical-rl;vertical-align:bottom;text-align:end;padding:.3rem 0;font-size:1rem;
font-weight:400}
.heat tbody th{text-align:end;white-space:nowrap;padding-inline-end:.4rem;position:sticky;left:0;
background:var(--paper)}
.heat td{min-width:1.9rem;height:1.6rem;text-align:center;font-size:.75rem}
dl.example{border-inline-start:3px solid var(--rule);padding-inline-start:1rem;margin:1rem 0;display:grid;
grid-template-columns:minmax(5rem,max-content) 1fr;gap:.2rem 1rem}
dl.example dt{color:var(--faint)}dl.example dd{margin:0;min-width:0}
@media(max-width:30rem){dl.example{grid-template-columns:1fr}dl.example dd{margin-bottom:.4rem}}
article{border-top:1px solid var(--rule);margin-top:1.4rem;padding-top:.4rem;break-inside:avoid}
.beside{display:flex;flex-wrap:wrap;gap:1.2rem 1.6rem;align-items:flex-start;
margin-right:min(0px,32rem - 50vw)}
.beside figure{margin:0;flex:0 1 auto;max-width:100%}.beside figcaption{color:var(--ink);max-width:14rem}
.beside .note{max-width:11rem}
.beside p{margin:.2rem 0}
.beside .heat th{font-size:.8125rem;line-height:1.15rem}
.beside .heat td{min-width:1.2rem;height:1.1rem;line-height:1.1rem;font-size:.625rem;padding:0}
summary{cursor:pointer;color:var(--faint);font-size:.875rem}
@media print{.beside{margin-right:0}body{max-width:none;padding:0;font-size:.8rem}section>h2{break-after:avoid}
tr,figure,dl.example{break-inside:avoid}.scroll{overflow:visible}
.heat td,.bar,.beyond{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
)
_STEPS = "\n".join(f".w{step}{{background:{colour};color:{ink(step)}}}" for step, colour in enumerate(CIVIDIS))

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
    def of_attention(cls, name: str, score: str, text: str, attention: PairAttention | None, by: UnitChoice) -> "Panel":
        if attention is None:
            return cls(name=name, score=score, text=text)
        unit = attention.unit(by)
        source, target = attention.units(unit)
        most = MOST_DRAWN[unit]
        if 0 < len(target) <= most and 0 < len(source) <= most:
            weights = attention.weights(by=unit)
            return cls(name=name, score=score, text=text, weights=weights, source=source, target=target, unit=unit)
        reason = f"No heatmap: {len(source)} {unit}s to {len(target)}; 1 to {most} are drawn."
        return cls(name=name, score=score, text=text, reason=reason)


@dataclass(frozen=True, kw_only=True)
class ComparedSentence:
    """A sentence with its reference, and the panels of all systems."""

    source: str
    reference: str
    panels: Sequence[Panel]


class Report:
    """Sections in the order of the calls; every method takes the section's heading first."""

    def __init__(self, title: str, language: str = "en") -> None:
        self.title, self.language = title, language
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
        chart = line_chart(labels, lines, x=x, y=y, counts=counts, beyond=beyond).html()
        columns: list[tuple[str, Sequence[Cell]]] = [(x, labels), *lines.items()]
        if counts is not None:
            columns.append(("n", counts))
        names, series = zip(*columns, strict=True)
        figures = _table(names, list(zip(*series, strict=True)))
        self._add(heading, f"<figure>{chart}{_folded('The figures of this chart', figures)}{_note(note)}</figure>")

    def intervals(self, heading: str, rows: Mapping[str, Interval], *, x: str, note: str = "") -> None:
        """Add a chart with one row per system: the mean, its interval, and the value of each run."""
        self._add(heading, f"<figure>{interval_chart(rows, x=x).html()}{_note(note)}</figure>")

    def chart(self, heading: str, chart: Chart, note: str = "") -> None:
        """Add a chart of `saccade.inspect.chart`."""
        self._add(heading, f"<figure>{chart.html()}{_note(note)}</figure>")

    def heatmap(
        self, heading: str, weights: object, source: Sequence[str], target: Sequence[str], note: str = ""
    ) -> None:
        """Add weights (T, S) between words in percent, target rows by source columns; hover for full numbers."""
        caption = f"{_inline(note)} {_legend(['word'])}"
        self._add(heading, f"<figure>{_heat(weights, source, target)}<figcaption>{caption}</figcaption></figure>")

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
        body, style = "\n".join(self._sections), f"{_STYLE}{_STEPS}\n"
        return _PAGE.substitute(title=escaped(self.title), body=body, style=style, language=self.language)

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


def _legend(units: Iterable[TextUnit]) -> str:
    rows = ", or: ".join(_LEGENDS[unit] for unit in sorted(set(units)))
    return (
        f"{rows}; numbers are percent. The weights show where the model read; they are not by themselves an "
        "explanation of what it wrote."
    )


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
