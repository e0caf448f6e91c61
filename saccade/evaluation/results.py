"""Evaluated systems, and what is shown of them: JSON, tables for the terminal and a report, one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from saccade.align.attention import PairAttention
from saccade.align.corpus import alignment_table
from saccade.align.scores import AlignmentScores
from saccade.evaluation.breakdowns import LengthScores
from saccade.evaluation.evaluation import Behaviour, Evaluation
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.evaluation.significance_tests import Difference
from saccade.inspect import ComparedSentence, Panel, Report
from saccade.metrics import METRICS, Counts
from saccade.provenance import provenance
from saccade.text.words import UnitChoice

Table = tuple[list[str], list[list[Any]]]
BY_FREQUENCY = "By the frequency of words"
BEHAVIOUR = {
    "length_ratio": "length ratio",
    "short": "short outputs, %",
    "repeated": "words repeated in a row, %",
    "repeated_in_references": "the same in the references, %",
    "repeated_beyond": "pairs of words repeated more often than in the reference, %",
    "copied": "words copied that are not in the reference, %",
    "unread": "source words hardly read, %",
}


@dataclass(frozen=True, kw_only=True)
class EvaluatedRun:
    name: str
    evaluation: Evaluation
    alignment: AlignmentScores | None = None  # of a model with attention, against gold
    attention: Sequence[PairAttention] = ()  # on the first of the worst sentences

    @property
    def texts(self) -> list[str]:
        return self.evaluation.counts.hypotheses

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, **self.evaluation.to_dict(), "alignment": self.alignment and asdict(self.alignment)}


@dataclass(frozen=True, kw_only=True)
class EvaluatedSystem:
    name: str
    runs: Sequence[EvaluatedRun]  # with different seeds

    @property
    def counts(self) -> list[Counts]:
        return [run.evaluation.counts for run in self.runs]

    def lengths(self, metric: str) -> list[float | None]:
        """The mean score in each range of source lengths; None where there is no sentence."""
        rows = zip(*(run.evaluation.lengths for run in self.runs), strict=True)
        return [fmean(cell.scores[metric] for cell in row if cell.scores) if row[0].scores else None for row in rows]

    def behaviour(self) -> Behaviour:
        """Means over runs."""
        columns = zip(*(vars(run.evaluation.behaviour).items() for run in self.runs), strict=True)
        values = {column[0][0]: [value for _, value in column if value is not None] for column in columns}
        means: dict[str, Any] = {name: fmean(measured) if measured else None for name, measured in values.items()}
        return Behaviour(**means)


@dataclass(frozen=True)
class SystemsEvaluation:
    """Systems evaluated on the same pairs; the first is the baseline of the others."""

    data: EvaluationSet
    systems: list[EvaluatedSystem]
    differences: list[tuple[Difference, ...]]  # of every other system to the first
    baselines: dict[str, AlignmentScores]  # alignments that read nothing; empty without gold
    worst: list[int]  # places of sentences, by the sentence chrF of the first run, worst first

    @property
    def runs(self) -> list[EvaluatedRun]:
        return [run for system in self.systems for run in system.runs]

    @property
    def metrics(self) -> list[str]:
        return list(self.runs[0].evaluation.scores.measured)

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.data.name,
            "left_out": self.data.left_out,
            "systems": [
                {"name": system.name, "runs": [run.to_dict() for run in system.runs]} for system in self.systems
            ],
            "differences": [
                {"name": system.name, "against": self.systems[0].name, **asdict(difference)}
                for system, differences in zip(self.systems[1:], self.differences, strict=True)
                for difference in differences
            ],
            "aligners": {name: asdict(scores) for name, scores in self.baselines.items()},
        }

    def tables(self, *, by_length: bool = False, by_frequency: bool = False) -> list[tuple[str, Table]]:
        """The tables that the command prints: a caption, or "", with columns and rows of text."""
        tables = [_scores_table(self)] + ([_lengths_table(self)] if by_length else [])
        tables += [table for name, table in self._sections().items() if by_frequency or name != BY_FREQUENCY]
        captioned = [("", table) for table in tables if table[1]]
        captioned += [(f"{heading}, by {test}", table) for heading, test, table in _difference_tables(self)]
        return [
            (caption, (columns, [[_cell(value) for value in row] for row in rows]))
            for caption, (columns, rows) in captioned
        ]

    def _sections(self) -> dict[str, Table]:
        return {
            BY_FREQUENCY: _frequency_table(self),
            "Behaviour": behaviour_table({run.name: run.evaluation.behaviour for run in self.runs}),
            "Constraints": _constraints_table(self),
            "Alignment to gold": _gold_table(self),
        }

    def signatures(self) -> list[str]:
        """How each metric was computed, in the words of sacrebleu."""
        measured = self.runs[0].evaluation.scores.measured
        return [f"{title(metric)}: {score.signature}" for metric, score in measured.items()]

    def write_report(self, path: str | Path, by: UnitChoice = "auto") -> None:
        """`by` is the unit of the heatmaps."""
        report = Report(f"{', '.join(system.name for system in self.systems)} on {self.data.name}")
        report.table("Scores", *_scores_table(self), note=f"{len(self.data.references)} pairs")
        for heading, test, table in _difference_tables(self):
            report.table(heading, *table, note=f"by {test}")
        report.sentences(
            "Worst sentences first",
            [self._compare_sentence(number, by) for number in range(len(self.worst))],
            note=f"The sentences with the lowest chrF of {self.runs[0].name}.",
        )
        if rows := self.runs[0].evaluation.lengths:
            metric = self.metrics[0]
            singles = {run.name: EvaluatedSystem(name=run.name, runs=[run]).lengths(metric) for run in self.runs}
            add_length_chart(report, metric, rows, singles)
        for heading, table in self._sections().items():
            if table[1]:
                report.table(heading, *table)
        report.text("How it was counted", "\n\n".join(self.signatures()))
        report.provenance("Made by", provenance())
        report.save(path)

    def _compare_sentence(self, number: int, by: UnitChoice) -> ComparedSentence:
        place, panels = self.worst[number], []
        for run in self.runs:
            score = f"chrF {run.evaluation.sentence_chrf[place]:.1f}"
            attention = run.attention[number] if number < len(run.attention) else None
            panels.append(Panel.of_attention(run.name, score, run.texts[place], attention, by))
        source = self.data.sources[place] if self.data.sources else ""
        return ComparedSentence(source=source, reference=" / ".join(self.data.references[place]), panels=panels)


def title(metric: str) -> str:
    return METRICS[metric].title


def behaviour_table(behaviours: Mapping[str, Behaviour]) -> Table:
    """One column per name."""
    rows: list[list[Any]] = []
    for name, label in BEHAVIOUR.items():
        values = [getattr(behaviour, name) for behaviour in behaviours.values()]
        if any(value is not None for value in values):
            rows.append([label, *(_fixed(value, 2) for value in values)])
    return ["", *behaviours], rows


def add_length_chart(
    report: Report,
    metric: str,
    rows: Sequence[LengthScores],
    lines: Mapping[str, Sequence[float | None]],
    note: str = "",
) -> None:
    """`rows` have the ranges of length; `lines`, the scores of each system in them."""
    labels = [row.bucket.label for row in rows]
    counts, beyond = [row.sentences for row in rows], [row.beyond for row in rows]
    report.lines(
        "By source length", labels, lines, x="source words", y=title(metric), counts=counts, beyond=beyond, note=note
    )


def _scores_table(result: SystemsEvaluation) -> Table:
    """One row per metric, one column per run: the score, with its interval if it was drawn."""
    rows: list[list[Any]] = []
    for metric in result.metrics:
        scores = [run.evaluation.scores.measured[metric] for run in result.runs]
        intervals = ["" if score.low is None else f" [{score.low:.1f}, {score.high:.1f}]" for score in scores]
        cells = [f"{score.value:.1f}{interval}" for score, interval in zip(scores, intervals, strict=True)]
        rows.append([title(metric), *cells])
    return ["", *(run.name for run in result.runs)], rows


def _lengths_table(result: SystemsEvaluation) -> Table:
    """All metrics of a single run, or the first metric of each of several."""
    runs, is_single = result.runs, len(result.runs) == 1
    columns = [(run, metric) for run in runs for metric in (result.metrics if is_single else result.metrics[:1])]
    rows: list[list[Any]] = []
    for place, row in enumerate(runs[0].evaluation.lengths):
        if row.sentences:
            scores = [(run.evaluation.lengths[place].scores, metric) for run, metric in columns]
            label = row.bucket.label + (" (beyond training)" if row.beyond else "")
            rows.append([label, *(each[metric] if each else None for each, metric in scores), row.sentences])
    names = [title(metric) if is_single else f"{title(metric)}, {run.name}" for run, metric in columns]
    return ["source words", *names, "pairs"], rows


def _frequency_table(result: SystemsEvaluation) -> Table:
    """Precision, recall and F of a single run, or the F of each of several."""
    runs, is_single = result.runs, len(result.runs) == 1
    rows: list[list[Any]] = []
    buckets = [{row.bucket: row for row in run.evaluation.frequencies} for run in runs]
    for bucket in sorted({bucket for each in buckets for bucket in each}, key=lambda bucket: bucket.low):
        scores = [each.get(bucket) for each in buckets]
        shares = [None if row is None else row.f for row in scores]
        if is_single and scores[0] is not None:
            shares = [scores[0].precision, scores[0].recall, scores[0].f]
        if any(share is not None for share in shares):
            expected = max(row.expected for row in scores if row)
            rows.append([bucket.label, *(_fixed(share, 3) for share in shares), expected])
    names = ["precision", "recall", "F"] if is_single else [f"F, {run.name}" for run in runs]
    return ["times counted", *names, "words"], rows


def _constraints_table(result: SystemsEvaluation) -> Table:
    rows: list[list[Any]] = []
    for run in result.runs:
        if scores := run.evaluation.constraints:
            met = f"{scores.included} of {scores.include}", f"{scores.excluded} of {scores.exclude}"
            sentences = f"{scores.satisfied} of {scores.sentences}"
            rows.append([run.name, *met, _fixed(scores.share, 3), sentences])
    return ["constraints", "included", "excluded", "met", "sentences"], rows


def _gold_table(result: SystemsEvaluation) -> Table:
    if not result.baselines:
        return [], []
    aligned = {run.name: run.alignment for run in result.runs}
    columns, rows = alignment_table({name: scores for name, scores in aligned.items() if scores} | result.baselines)
    missing: list[list[Any]] = [[name, None, None, None] for name, scores in aligned.items() if scores is None]
    return columns, missing + rows


def _difference_tables(result: SystemsEvaluation) -> list[tuple[str, str, Table]]:
    """The heading, the test and the table of each system's differences to the first."""
    tables = []
    for system, differences in zip(result.systems[1:], result.differences, strict=True):
        rows = []
        for each in differences:
            interval = f"{each.low:+.2f} … {each.high:+.2f}"
            cells = [each.baseline, each.system, f"{each.difference:+.2f}", interval, f"{each.p:.4f}"]
            rows.append([title(each.metric), *cells])
        columns = ["", "first", "this", "difference", "95 % interval", "p"]
        tables.append((f"{system.name} against {result.systems[0].name}", differences[0].test, (columns, rows)))
    return tables


def _fixed(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
