"""The tables of an evaluation, the same in the terminal and in the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.align.corpus import alignment_table
from saccade.evaluation.significance_tests import Difference
from saccade.evaluation.systems import EvaluatedRun, SystemsEvaluation
from saccade.metrics import METRICS

Table = tuple[list[str], list[list[Any]]]
BEHAVIOUR = {
    "length_ratio": "length ratio",
    "short": "short outputs, %",
    "repeated": "words repeated in a row, %",
    "repeated_in_references": "the same in the references, %",
    "repeated_beyond": "pairs of words repeated more often than in the reference, %",
    "copied": "words copied that are not in the reference, %",
    "unread": "source words hardly read, %",
}


def title(metric: str) -> str:
    return METRICS[metric].title


def terminal_tables(
    result: SystemsEvaluation, *, by_length: bool = False, by_frequency: bool = False
) -> list[tuple[str, Table]]:
    """All tables with their captions, in the order they are printed; every cell is text."""
    tables = [
        scores_table(result),
        lengths_table(result) if by_length else ([], []),
        frequency_table(result) if by_frequency else ([], []),
        behaviour_table(_behaviours(result)),
        constraints_table(result),
        gold_table(result),
    ]
    captioned = [("", table) for table in tables if table[1]]
    captioned += [(f"{heading}, by {tested[0].test}", difference_table(tested)) for heading, tested in tests(result)]
    return [
        (caption, (columns, [[_cell(value) for value in row] for row in rows]))
        for caption, (columns, rows) in captioned
    ]


def signatures(result: SystemsEvaluation) -> list[str]:
    measured = result.runs[0].evaluation.scores.measured
    return [f"{title(metric)}: {score.signature}" for metric, score in measured.items()]


def tests(result: SystemsEvaluation) -> list[tuple[str, tuple[Difference, ...]]]:
    """The heading and the differences of each system to the first."""
    return [
        (f"{system.name} against {result.systems[0].name}", differences)
        for system, differences in zip(result.systems[1:], result.differences, strict=True)
    ]


def scores_table(result: SystemsEvaluation) -> Table:
    """One row per metric, one column per run: the score, and its interval where there is one."""
    rows = [[title(metric), *(_with_interval(run, metric) for run in result.runs)] for metric in result.metrics]
    return ["", *(run.name for run in result.runs)], rows


def lengths_table(result: SystemsEvaluation) -> Table:
    """All metrics of a single run, or the first metric of each of several."""
    runs, single = result.runs, len(result.runs) == 1
    columns = [(run, metric) for run in runs for metric in (result.metrics if single else result.metrics[:1])]
    rows: list[list[Any]] = []
    for place, row in enumerate(runs[0].evaluation.lengths):
        if row.sentences:
            scores = [(run.evaluation.lengths[place].scores, metric) for run, metric in columns]
            label = row.bucket.label + (" (beyond training)" if row.beyond else "")
            rows.append([label, *(each[metric] if each else None for each, metric in scores), row.sentences])
    names = [title(metric) if single else f"{title(metric)}, {run.name}" for run, metric in columns]
    return ["source words", *names, "pairs"], rows


def frequency_table(result: SystemsEvaluation) -> Table:
    """Precision, recall and F of a single run, or the F of each of several."""
    runs, single = result.runs, len(result.runs) == 1
    rows: list[list[Any]] = []
    buckets = [{row.bucket: row for row in run.evaluation.frequencies} for run in runs]
    for bucket in sorted({bucket for each in buckets for bucket in each}, key=lambda bucket: bucket.low):
        scores = [each.get(bucket) for each in buckets]
        shares = [None if row is None else row.f for row in scores]
        if single and scores[0] is not None:
            shares = [scores[0].precision, scores[0].recall, scores[0].f]
        if any(share is not None for share in shares):
            expected = max(row.expected for row in scores if row)
            rows.append([bucket.label, *(_fixed(share, 3) for share in shares), expected])
    names = ["precision", "recall", "F"] if single else [f"F, {run.name}" for run in runs]
    return ["times counted", *names, "words"], rows


def behaviour_table(behaviours: Mapping[str, Mapping[str, float | None]]) -> Table:
    """One column per name."""
    rows: list[list[Any]] = [
        [label, *(_fixed(values[name], 2) for values in behaviours.values())]
        for name, label in BEHAVIOUR.items()
        if any(values[name] is not None for values in behaviours.values())
    ]
    return ["", *behaviours], rows


def constraints_table(result: SystemsEvaluation) -> Table:
    rows: list[list[Any]] = []
    for run in result.runs:
        if scores := run.evaluation.constraints:
            met = f"{scores.included} of {scores.include}", f"{scores.excluded} of {scores.exclude}"
            sentences = f"{scores.satisfied} of {scores.sentences}"
            rows.append([run.name, *met, _fixed(scores.share, 3), sentences])
    return ["constraints", "included", "excluded", "met", "sentences"], rows


def gold_table(result: SystemsEvaluation) -> Table:
    if not result.baselines:
        return [], []
    aligned = {run.name: run.alignment for run in result.runs}
    columns, rows = alignment_table({name: scores for name, scores in aligned.items() if scores} | result.baselines)
    missing: list[list[Any]] = [[name, None, None, None] for name, scores in aligned.items() if scores is None]
    return columns, missing + rows


def difference_table(differences: Sequence[Difference]) -> Table:
    rows: list[list[Any]] = [
        [
            title(each.metric),
            each.baseline,
            each.system,
            f"{each.difference:+.2f}",
            f"{each.low:+.2f} … {each.high:+.2f}",
            f"{each.p:.4f}",
        ]
        for each in differences
    ]
    return ["", "first", "this", "difference", "95 % interval", "p"], rows


def _behaviours(result: SystemsEvaluation) -> dict[str, dict[str, float | None]]:
    return {run.name: run.evaluation.behaviour.to_dict() for run in result.runs}


def _with_interval(run: EvaluatedRun, metric: str) -> str:
    score = run.evaluation.scores.measured[metric]
    return f"{score.value:.1f}" + ("" if score.low is None else f" [{score.low:.1f}, {score.high:.1f}]")


def _fixed(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
