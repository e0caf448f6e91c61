"""The tables of a comparison, the same in the terminal and in the report."""

from collections.abc import Sequence
from typing import Any

from saccade.comparison.judging import PairTest
from saccade.comparison.result import Comparison
from saccade.evaluation.significance_tests import MeanScore
from saccade.evaluation.tables import Table, title
from saccade.metrics import METRICS

SIGNIFICANT = 0.05  # p after the correction


def scores_table(comparison: Comparison) -> Table:
    """One row per system."""
    rows = []
    for system in comparison.systems:
        cells = [cell for metric in comparison.metrics for cell in _score_cells(system.scores[metric])]
        rows.append([system.name, *cells, len(system.runs)])
    return [
        "system",
        *(name for metric in comparison.metrics for name in (title(metric), "95 % interval")),
        "runs",
    ], rows


def costs_table(comparison: Comparison) -> Table:
    """One row per system that was measured."""
    rows = [
        [name, f"{cost.parameters:,}", f"{cost.trained:,.0f}", f"{cost.translated:,.1f}", f"{cost.memory / 2**20:,.0f}"]
        for name, cost in comparison.costs.items()
    ]
    return ["system", "parameters", "tokens/s trained", "sentences/s translated", "memory, MiB"], rows


def summary_table(comparison: Comparison) -> Table:
    """Scores and costs side by side, with the interval of the first score alone."""
    (columns, rows), (cost_columns, cost_rows) = scores_table(comparison), costs_table(comparison)
    costs = {name: cells for name, *cells in cost_rows}
    shown = [0, 1, 2, *range(3, len(columns) - 1, 2), len(columns) - 1]
    return (
        [columns[place] for place in shown] + (cost_columns[1:] if costs else []),
        [[row[place] for place in shown] + costs.get(row[0], []) for row in rows],
    )


def terminal_tables(comparison: Comparison) -> list[Table]:
    return [summary_table(comparison), pairs_table(comparison, comparison.metrics[:1])]


def _score_cells(score: MeanScore) -> list[str]:
    spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
    return [f"{score.mean:.1f}{spread}", f"{score.low:.1f} … {score.high:.1f}"]


def pairs_table(comparison: Comparison, metrics: Sequence[str]) -> Table:
    """Every pair of systems by these metrics."""
    rows = [
        [
            f"{pair.system} − {pair.baseline}",
            *([title(pair.difference.metric)] if len(metrics) > 1 else []),
            f"{pair.difference.difference:+.1f}",
            f"{pair.difference.low:+.1f} … {pair.difference.high:+.1f}",
            *(None if p is None else f"{p:.3f}" for p in (pair.difference.p, pair.corrected, pair.randomised)),
            verdict(pair),
        ]
        for pair in comparison.pairwise
        if pair.difference.metric in metrics
    ]
    by = ["pair", "by"] if len(metrics) > 1 else [title(metrics[0])]
    return [*by, "difference", "95 % interval", "p", "p, Holm", "p, randomised", "in words"], rows


def verdict(pair: PairTest) -> str:
    """The test in words. One run does not show how much seeds vary, so it supports no claim about a system."""
    if pair.runs == 1:
        return "one seed cannot tell"
    if pair.corrected >= SIGNIFICANT:
        return "no clear difference"
    better = (pair.difference.difference > 0) == METRICS[pair.difference.metric].higher_is_better
    return f"{pair.system if better else pair.baseline} is better"


def runs_table(comparison: Comparison) -> Table:
    """One row per run: its scores, updates and time, and why it ended."""
    rows: list[list[Any]] = []
    for system in comparison.systems:
        for run in system.runs:
            result = run.training
            spent = [None] * 3 if result is None else [result.step, f"{result.seconds / 60:.1f}", result.reason]
            scores = [f"{run.evaluation.scores[metric]:.1f}" for metric in comparison.metrics]
            rows.append([system.name, "given" if run.seed is None else str(run.seed), *scores, *spent])
    return ["system", "seed", *map(title, comparison.metrics), "updates", "minutes", "ended because"], rows


def settings_tables(comparison: Comparison) -> tuple[Table, Table]:
    """The settings in which systems differ, one column per system, and the settings that all share."""
    flat = {system.name: _flatten(comparison.settings[system.name]) for system in comparison.systems}
    keys = list(dict.fromkeys(key for settings in flat.values() for key in settings))
    values = {key: [settings.get(key) for settings in flat.values()] for key in keys}
    shared = {key for key, of_systems in values.items() if len(set(of_systems)) == 1}
    differing = [[key, *values[key]] for key in keys if key not in shared]
    return (["setting", *flat], differing), (
        ["setting", "all systems"],
        [[key, values[key][0]] for key in keys if key in shared],
    )


def _flatten(settings: Any, prefix: str = "") -> dict[str, str]:
    """Dotted keys and their values as text."""
    if not isinstance(settings, dict):
        return {prefix: "none" if settings is None else str(settings)}
    return {
        key: value
        for name, inner in settings.items()
        for key, value in _flatten(inner, f"{prefix}.{name}" if prefix else str(name)).items()
    }
