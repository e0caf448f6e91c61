"""A study as text for the terminal, as an HTML page, and as Markdown with figures, in English or Chinese."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from saccade.files import write_atomically
from saccade.inspect.cells import shown
from saccade.inspect.report import Report
from saccade.language import Bilingual, Language
from saccade.study.result import ANSWERS, StudyResult
from saccade.study.study import Cell, StudyFigure, StudyPlan, StudyTable

PAGE = "page.html"
_TEXTS: Mapping[str, Bilingual] = {
    "claim": Bilingual(en="Claim", zh="论点"),
    "method": Bilingual(en="How it is tested", zh="检验方法"),
    "limits": Bilingual(en="What this does not show", zh="不能说明什么"),
    "heading": Bilingual(en="Answer: {}", zh="结论：{}"),
    "threshold": Bilingual(en="threshold, set before the run", zh="事先定下的标准"),
    "measured": Bilingual(en="measured", zh="实测"),
    "interval": Bilingual(en="95 % interval", zh="95% 区间"),
    "each": Bilingual(en="each seed", zh="每个随机种子"),
    "held": Bilingual(en="result", zh="结果"),
    "provenance": Bilingual(en="How it was made", zh="结果的来源"),
    "quick": Bilingual(
        en="This is a quick run: smaller models and a single seed. The full run decides.",
        zh="这是快速运行：模型较小，只有一个随机种子。以完整运行的结论为准。",
    ),
}


def describe_plan(plan: StudyPlan) -> list[str]:
    """The claim and the thresholds, before anything runs."""
    study = plan.study
    lines = [f"{study.name}: {study.title.en}", f"  paper: {study.paper}", f"  claim: {study.claim.en}"]
    lines += [f"  threshold: {threshold.text.en}" for threshold in study.thresholds]
    return lines


def decision_table(result: StudyResult, language: Language) -> StudyTable:
    columns = [_TEXTS[name].within(language) for name in ("threshold", "measured", "interval", "each", "held")]
    rows: list[list[Cell]] = []
    for threshold, interval, answer in result.decisions:
        several = len(interval.each) > 1
        rows.append(
            [
                threshold.text.within(language),
                number(interval.mean),
                f"{number(interval.low)} … {number(interval.high)}" if several else None,
                ", ".join(number(value) for value in interval.each) if several else None,
                ANSWERS[answer].within(language),
            ]
        )
    title = _TEXTS["heading"].within(language).format(ANSWERS[result.answer].within(language))
    note = _TEXTS["quick"].within(language) if result.quick else ""
    return StudyTable(title=title, columns=columns, rows=rows, note=note)


def terminal_tables(result: StudyResult) -> list[StudyTable]:
    """The answer and the tables, in English."""
    tables = [item for item in result.study.shown_in(result.runs, "en") if isinstance(item, StudyTable)]
    return [*tables, decision_table(result, "en")]


def number(value: float) -> str:
    """Three significant digits, and no fewer than those before the point."""
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.3g}"
    return text.replace("-", "−")


def write_page(result: StudyResult, folder: Path, language: Language) -> None:
    """Write page.html and one .svg file per figure."""
    study = result.study
    report = Report(study.title.within(language), language)
    report.text(_TEXTS["claim"].within(language), f"{study.claim.within(language)}\n\n{study.paper}")
    for item in (decision_table(result, language), *study.shown_in(result.runs, language)):
        if isinstance(item, StudyTable):
            report.table(item.title, item.columns, item.rows, item.note)
        elif isinstance(item, StudyFigure):
            report.chart(item.title, item.chart, item.note)
        else:
            report.heatmap(item.title, item.weights, item.columns, item.rows, item.note)
    report.text(_TEXTS["method"].within(language), study.method.within(language))
    report.text(_TEXTS["limits"].within(language), study.limits.within(language))
    report.provenance(_TEXTS["provenance"].within(language), result.provenance)
    report.save(folder / PAGE)
    for place, svg in enumerate(figures(result, language), 1):
        write_atomically(folder / f"figure-{place}.svg", svg)


def figures(result: StudyResult, language: Language) -> list[str]:
    """The figures as SVG files, in order."""
    items = result.study.shown_in(result.runs, language)
    return [item.chart.svg() for item in items if isinstance(item, StudyFigure)]


def markdown(result: StudyResult, language: Language, figure_paths: Sequence[str]) -> str:
    """The page as Markdown; `figure_paths` are the places of its figures, in order."""
    study, paths = result.study, iter(figure_paths)
    parts = [f"# {study.title.within(language)}", f"*{study.paper}*", study.claim.within(language)]
    parts += ["```bash", f"saccade study {study.name}", "```"]
    for item in (decision_table(result, language), *study.shown_in(result.runs, language)):
        parts.append(f"## {item.title}")
        if isinstance(item, StudyTable):
            parts.append(markdown_table(item.columns, item.rows))
        elif isinstance(item, StudyFigure):
            parts.append(f"![{item.title}]({next(paths)})")
        else:
            rows = [
                [row, *(f"{weight:.2f}" for weight in weights)]
                for row, weights in zip(item.rows, item.weights, strict=True)
            ]
            parts.append(markdown_table(["", *item.columns], rows))
        parts += [item.note] if item.note else []
    for name in ("method", "limits"):
        parts += [f"## {_TEXTS[name].within(language)}", getattr(study, name).within(language)]
    return "\n\n".join(parts).replace("```bash\n\n", "```bash\n").replace("\n\n```\n\n", "\n```\n\n") + "\n"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    lines = [columns, ["---"] * len(columns), *([shown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
