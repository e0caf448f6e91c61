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
from saccade.language import Bilingual, Either, Language, either_in
from saccade.metrics import METRICS, Counts
from saccade.provenance import provenance
from saccade.text.words import UnitChoice

Table = tuple[list[str], list[list[Any]]]
BY_FREQUENCY = Bilingual(en="By the frequency of words", zh="按词频")
BEHAVIOUR = {
    "length_ratio": Bilingual(en="length ratio", zh="长度比"),
    "short": Bilingual(en="short outputs, %", zh="过短的译文，%"),
    "repeated": Bilingual(en="words repeated in a row, %", zh="连续重复的词，%"),
    "repeated_in_references": Bilingual(en="the same in the references, %", zh="参考译文中连续重复的词，%"),
    "repeated_beyond": Bilingual(
        en="pairs of words repeated more often than in the reference, %", zh="重复次数超过参考译文的相邻词对，%"
    ),
    "copied": Bilingual(en="words copied that are not in the reference, %", zh="照抄源句而参考译文中没有的词，%"),
    "unread": Bilingual(en="source words hardly read, %", zh="几乎没有读到的源词，%"),
}
_TESTS = {
    "paired bootstrap": "配对自助法",
    "paired randomisation": "配对随机化检验",
    "hierarchical bootstrap": "分层自助法",
    "randomisation of all runs": "对全部训练的随机化检验",
}
_ENGLISH = either_in("en")


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
        tables += [table for name, table in self._sections("en").items() if by_frequency or name != BY_FREQUENCY.en]
        captioned = [("", table) for table in tables if table[1]]
        captioned += [(f"{heading}, by {test}", table) for heading, test, table in _difference_tables(self, _ENGLISH)]
        return [
            (caption, (columns, [[_cell(value) for value in row] for row in rows]))
            for caption, (columns, rows) in captioned
        ]

    def _sections(self, language: Language) -> dict[str, Table]:
        either = either_in(language)
        behaviours = {run.name: run.evaluation.behaviour for run in self.runs}
        return {
            BY_FREQUENCY.within(language): _frequency_table(self, either),
            either("Behaviour", "译文的毛病"): behaviour_table(behaviours, language),
            either("Constraints", "约束"): _constraints_table(self, either),
            either("Alignment to gold", "与标准对齐相比"): _gold_table(self, either),
        }

    def signatures(self) -> list[str]:
        """How each metric was computed, in the words of sacrebleu."""
        measured = self.runs[0].evaluation.scores.measured
        return [f"{title(metric)}: {score.signature}" for metric, score in measured.items()]

    def write_report(self, path: str | Path, by: UnitChoice = "auto", language: Language = "en") -> None:
        """`by` is the unit of the heatmaps."""
        either, names = either_in(language), [system.name for system in self.systems]
        report = Report(
            either(f"{', '.join(names)} on {self.data.name}", f"{'、'.join(names)}：{self.data.name} 上的评测"),
            language,
        )
        count = len(self.data.references)
        report.table(
            either("Scores", "得分"), *_scores_table(self), note=either(f"{count} pairs", f"共 {count} 个句对")
        )
        for heading, test, table in _difference_tables(self, either):
            report.table(heading, *table, note=either(f"by {test}", f"检验方法：{_TESTS[test]}"))
        report.sentences(
            either("Worst sentences first", "从译得最差的句子看起"),
            [self._compare_sentence(number, by, language) for number in range(len(self.worst))],
            note=either(
                f"The sentences with the lowest chrF of {self.runs[0].name}.",
                f"{self.runs[0].name} 的译文中 chrF 最低的句子。",
            ),
        )
        if rows := self.runs[0].evaluation.lengths:
            metric = self.metrics[0]
            singles = {run.name: EvaluatedSystem(name=run.name, runs=[run]).lengths(metric) for run in self.runs}
            add_length_chart(report, metric, rows, singles)
        for heading, table in self._sections(language).items():
            if table[1]:
                report.table(heading, *table)
        report.text(either("How it was counted", "计分方法"), "\n\n".join(self.signatures()))
        report.provenance(either("Made by", "结果的来源"), provenance())
        report.save(path)

    def _compare_sentence(self, number: int, by: UnitChoice, language: Language) -> ComparedSentence:
        place, panels = self.worst[number], []
        for run in self.runs:
            score = f"chrF {run.evaluation.sentence_chrf[place]:.1f}"
            attention = run.attention[number] if number < len(run.attention) else None
            panels.append(Panel.of_attention(run.name, score, run.texts[place], attention, by, language))
        source = self.data.sources[place] if self.data.sources else ""
        return ComparedSentence(source=source, reference=" / ".join(self.data.references[place]), panels=panels)


def title(metric: str) -> str:
    return METRICS[metric].title


def behaviour_table(behaviours: Mapping[str, Behaviour], language: Language) -> Table:
    """One column per name."""
    rows: list[list[Any]] = []
    for name, label in BEHAVIOUR.items():
        values = [getattr(behaviour, name) for behaviour in behaviours.values()]
        if any(value is not None for value in values):
            rows.append([label.within(language), *(_fixed(value, 2) for value in values)])
    return ["", *behaviours], rows


def add_length_chart(
    report: Report,
    metric: str,
    rows: Sequence[LengthScores],
    lines: Mapping[str, Sequence[float | None]],
    note: str = "",
) -> None:
    """`rows` have the ranges of length; `lines`, the scores of each system in them."""
    either, labels = either_in(report.language), [row.bucket.label for row in rows]
    report.lines(
        either("By source length", "按源句长度"),
        labels,
        lines,
        x=either("source words", "源句词数"),
        y=title(metric),
        counts=[row.sentences for row in rows],
        beyond=[row.beyond for row in rows],
        note=note,
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


def _frequency_table(result: SystemsEvaluation, either: Either) -> Table:
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
    names = [either("precision", "精确率"), either("recall", "召回率"), "F"]
    names = names if is_single else [either(f"F, {run.name}", f"{run.name} 的 F") for run in runs]
    return [either("times counted", "出现次数"), *names, either("words", "词数")], rows


def _constraints_table(result: SystemsEvaluation, either: Either) -> Table:
    rows: list[list[Any]] = []
    for run in result.runs:
        if scores := run.evaluation.constraints:
            of = either(" of ", "/")
            met = f"{scores.included}{of}{scores.include}", f"{scores.excluded}{of}{scores.exclude}"
            sentences = f"{scores.satisfied}{of}{scores.sentences}"
            rows.append([run.name, *met, _fixed(scores.share, 3), sentences])
    columns = either("constraints,included,excluded,met,sentences", "约束,已包含,已排除,满足的比例,满足的句数")
    return columns.split(","), rows


def _gold_table(result: SystemsEvaluation, either: Either) -> Table:
    if not result.baselines:
        return [], []
    aligned = {run.name: run.alignment for run in result.runs}
    _, rows = alignment_table({name: scores for name, scores in aligned.items() if scores} | result.baselines)
    columns = either("alignment to gold,AER,precision,recall", "对齐方式,AER,精确率,召回率").split(",")
    missing: list[list[Any]] = [[name, None, None, None] for name, scores in aligned.items() if scores is None]
    return columns, missing + rows


def _difference_tables(result: SystemsEvaluation, either: Either) -> list[tuple[str, str, Table]]:
    """The heading, the test and the table of each system's differences to the first."""
    tables = []
    for system, differences in zip(result.systems[1:], result.differences, strict=True):
        rows = []
        for each in differences:
            interval = f"{each.low:+.2f} … {each.high:+.2f}"
            cells = [each.baseline, each.system, f"{each.difference:+.2f}", interval, f"{each.p:.4f}"]
            rows.append([title(each.metric), *cells])
        columns = either(",first,this,difference,95 % interval,p", ",基线,本系统,差异,95 % 区间,p").split(",")
        first = result.systems[0].name
        heading = either(f"{system.name} against {first}", f"{system.name} 与 {first} 相比")
        tables.append((heading, differences[0].test, (columns, rows)))
    return tables


def _fixed(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
