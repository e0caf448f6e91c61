"""What a comparison says in tables, alike in the terminal and in the report."""

from collections.abc import Sequence
from typing import Any

from saccade.compare.comparison import Comparison
from saccade.compare.judging import METRICS, PairTest
from saccade.evaluate import METRICS as ABOUT
from saccade.evaluate import MeanScore

Table = tuple[list[str], list[list[Any]]]
SURE = 0.05  # of p, after the correction
BEHAVIOUR = {
    "length_ratio": "length ratio",
    "short": "short outputs, %",
    "repeated": "words repeated in a row, %",
    "repeated_beyond": "pairs of words repeated beyond the reference, %",
    "copied": "words copied that the reference has not, %",
}


def title(metric: str) -> str:
    return ABOUT[metric].title


def scores_table(found: Comparison) -> Table:
    """A row a system."""
    rows = []
    for system in found.systems:
        cells = [cell for metric in METRICS for cell in _scored(system.scores[metric])]
        rows.append([system.name, *cells, len(system.runs)])
    return ["system", *(name for metric in METRICS for name in (title(metric), "95 % interval")), "runs"], rows


def costs_table(found: Comparison) -> Table:
    """A row a system that was measured."""
    rows = [
        [name, f"{cost.parameters:,}", f"{cost.trained:,.0f}", f"{cost.translated:,.1f}", f"{cost.memory / 2**20:,.0f}"]
        for name, cost in found.costs.items()
    ]
    return ["system", "parameters", "pieces/s trained", "sentences/s translated", "memory, MiB"], rows


def summary(found: Comparison) -> Table:
    """Both at once, without the intervals of all but the first score."""
    scores, costs = scores_table(found), {row[0]: row[1:] for row in costs_table(found)[1]}
    kept = [0, 1, 2, *range(3, len(scores[0]) - 1, 2), len(scores[0]) - 1]
    paid = costs_table(found)[0][1:] if costs else []
    return (
        [scores[0][place] for place in kept] + paid,
        [[row[place] for place in kept] + costs.get(row[0], []) for row in scores[1]],
    )


def _scored(score: MeanScore) -> list[str]:
    spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
    return [f"{score.mean:.1f}{spread}", f"{score.low:.1f} … {score.high:.1f}"]


def pairs_table(found: Comparison, metrics: Sequence[str]) -> Table:
    """Every pair of systems by these metrics."""
    rows = [
        [
            f"{one.system} − {one.baseline}",
            *([title(one.difference.metric)] if len(metrics) > 1 else []),
            f"{one.difference.difference:+.1f}",
            f"{one.difference.low:+.1f} … {one.difference.high:+.1f}",
            p_of(one.difference.p),
            p_of(one.corrected),
            p_of(one.randomised),
            verdict(one),
        ]
        for one in found.pairwise
        if one.difference.metric in metrics
    ]
    by = ["pair", "by"] if len(metrics) > 1 else [title(metrics[0])]
    return [*by, "difference", "95 % interval", "p", "p, Holm", "p, randomised", "in words"], rows


def verdict(one: PairTest) -> str:
    if one.corrected >= SURE:
        return "not told apart"
    better = (one.difference.difference > 0) == ABOUT[one.difference.metric].higher_is_better
    return f"{one.system if better else one.baseline} is better"


def behaviour_table(found: Comparison) -> Table:
    each = [system.behaviour() for system in found.systems]
    rows = [[said, *(_two(one[name]) for one in each)] for name, said in BEHAVIOUR.items()]
    return ["", *(system.name for system in found.systems)], rows


def runs_table(found: Comparison) -> Table:
    """What every run took and reached."""
    rows: list[list[Any]] = []
    for system in found.systems:
        results = {result.seed: result for result in found.trained.get(system.name, ())}
        for run in system.runs:
            made = results.get(run.seed) if run.seed is not None else None
            spent = [None, None, None] if made is None else [made.step, f"{made.seconds / 60:.1f}", made.reason]
            scores = [f"{run.evaluation.scores[metric]:.1f}" for metric in METRICS]
            rows.append([system.name, "given" if run.seed is None else str(run.seed), *scores, *spent])
    return ["system", "seed", *map(title, METRICS), "updates", "minutes", "ended because"], rows


def settings_tables(found: Comparison) -> tuple[Table, Table]:
    """The settings in which systems differ, a column each; and those that all share."""
    flat = {system.name: _flat(found.settings[system.name]) for system in found.systems}
    keys = list(dict.fromkeys(key for one in flat.values() for key in one))
    values = {key: [one.get(key) for one in flat.values()] for key in keys}
    same = {key for key, some in values.items() if len(set(some)) == 1}
    differing = [[key, *values[key]] for key in keys if key not in same]
    return (["setting", *flat], differing), (
        ["setting", "of all"],
        [[key, values[key][0]] for key in keys if key in same],
    )


def p_of(p: float | None) -> str | None:
    return None if p is None else f"{p:.3f}"


def _flat(settings: Any, at: str = "") -> dict[str, str]:
    """Dotted keys; a system that lacks one shows a dash."""
    if not isinstance(settings, dict):
        return {at: "none" if settings is None else str(settings)}
    return {
        key: value
        for name, inner in settings.items()
        for key, value in _flat(inner, f"{at}.{name}" if at else str(name)).items()
    }


def _two(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"
