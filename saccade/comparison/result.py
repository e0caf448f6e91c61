"""The result of a comparison, and what is shown of it: JSON, tables for the terminal and a report, one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saccade.align import PairAttention
from saccade.comparison.costs import Cost
from saccade.comparison.judging import LONGEST_SHOWN, ComparedSystem, DifferingSentence, PairTest
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import Plan
from saccade.decode import Search
from saccade.errors import plural
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.evaluation.results import Table, add_length_chart, behaviour_table, title
from saccade.inspect import ComparedSentence, Interval, Panel, Report
from saccade.metrics import METRICS
from saccade.text.words import UnitChoice
from saccade.train.resume import flatten

SIGNIFICANT = 0.05  # p after the correction


@dataclass(frozen=True, kw_only=True)
class Comparison:
    plan: Plan
    pairs: EvaluationSet
    options: CompareOptions
    search: Search
    systems: Sequence[ComparedSystem]
    pairwise: tuple[PairTest, ...]
    costs: Mapping[str, Cost]
    differing: tuple[DifferingSentence, ...]
    attention: Mapping[str, Sequence[PairAttention] | str]  # on these sentences; without attention, how the model reads
    settings: Mapping[str, Mapping[str, Any]]  # system → table → key → value
    threads: int
    provenance: Mapping[str, Any]

    @property
    def metrics(self) -> list[str]:
        """The first is the main one."""
        return list(self.systems[0].scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without attention weights and without the outputs that the report does not show."""
        names = ("resamples", "rounds", "shown", "device", "batch_tokens")
        return {
            "pairs": {"name": self.pairs.name, "sentences": len(self.pairs.references)},
            "unequal": list(self.plan.unequal),
            "options": {"search": asdict(self.search), **{name: getattr(self.options, name) for name in names}},
            "systems": [
                {
                    "name": system.name,
                    "scores": {name: asdict(score) for name, score in system.scores.items()},
                    "cost": asdict(self.costs[system.name]) if self.costs else None,
                    "settings": self.settings[system.name],
                    "runs": [run.to_dict() for run in system.runs],
                }
                for system in self.systems
            ],
            "pairwise": [pair.to_dict() for pair in self.pairwise],
            "differing_sentences": [asdict(sentence) for sentence in self.differing],
            "threads": self.threads,
            "provenance": dict(self.provenance),
        }

    def tables(self) -> list[Table]:
        """The tables that the command prints, each as columns and rows: scores with costs, and the pairs."""
        (columns, rows), (cost_columns, cost_rows) = _scores_table(self), _costs_table(self)
        costs = {name: cells for name, *cells in cost_rows}
        shown = [0, 1, 2, *range(3, len(columns) - 1, 2), len(columns) - 1]  # the interval of the first score alone
        summary = (
            [columns[place] for place in shown] + (cost_columns[1:] if costs else []),
            [[row[place] for place in shown] + costs.get(row[0], []) for row in rows],
        )
        return [summary, _pairs_table(self, self.metrics[:1])]

    def write_report(self, path: Path, by: UnitChoice = "auto") -> None:
        """`by` is the unit of the heatmaps."""
        report = Report(f"Comparison of {', '.join(system.name for system in self.systems)}")
        report.text("What was compared", "\n\n".join(_about(self)))
        metric = self.metrics[0]
        scores = {system.name: system.scores[metric] for system in self.systems}
        report.intervals(
            f"{title(metric)} of each system",
            {name: Interval(score.mean, score.low, score.high, score.runs) for name, score in scores.items()},
            x=title(metric),
            note="The marker is the mean over runs, each stroke a run, the bar the 95 % interval over sentences and "
            "runs.",
        )
        report.table("Scores", *_scores_table(self), note="Means over runs ± the standard deviation between runs.")
        if self.costs:
            report.table("Costs", *_costs_table(self), note=_costs_note(self))
        heading = f"Is it better? By {title(metric)}"
        report.table(heading, *_pairs_table(self, self.metrics[:1]), note=_significance_note(self))
        others = " and ".join(map(title, self.metrics[1:]))
        report.table(f"By {others}", *_pairs_table(self, self.metrics[1:]), folded=f"Every pair by {others}")
        rows = self.systems[0].runs[0].evaluation.lengths
        filled = [place for place, row in enumerate(rows) if row.sentences]
        lines = {system.name: [system.lengths(metric)[place] for place in filled] for system in self.systems}
        add_length_chart(report, metric, [rows[place] for place in filled], lines, note="Means over runs.")
        behaviours = {system.name: system.behaviour() for system in self.systems}
        report.table("Behaviour", *behaviour_table(behaviours), note="Means over runs; 100 % is all.")
        if self.differing:
            report.sentences(
                "Where they differ most",
                [_compare_sentence(self, place, by) for place in range(len(self.differing))],
                note=f"The sentences of at most {LONGEST_SHOWN} words with the widest gap in chrF between systems, "
                "each the mean over runs, with the output of each system's first run.",
            )
        report.table("Every run", *_runs_table(self))
        differing, shared = _settings_tables(self)
        report.table("Settings in which they differ", *differing)
        report.table("Settings that all share", *shared, folded=f"{len(shared[1])} settings")
        report.provenance("Made by", self.provenance)
        report.save(path)


def verdict(pair: PairTest) -> str:
    """The test in words. One run does not show how much seeds vary, so it supports no claim about a system."""
    if min(pair.difference.runs) == 1:
        return "one seed cannot tell"
    if pair.corrected >= SIGNIFICANT:
        return "no clear difference"
    is_better = (pair.difference.difference > 0) == METRICS[pair.difference.metric].higher_is_better
    return f"{pair.system if is_better else pair.baseline} is better"


def _scores_table(comparison: Comparison) -> Table:
    """One row per system."""
    columns, rows = ["system"], [[system.name] for system in comparison.systems]
    for metric in comparison.metrics:
        columns += [title(metric), "95 % interval"]
        for row, system in zip(rows, comparison.systems, strict=True):
            score = system.scores[metric]
            spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
            row += [f"{score.mean:.1f}{spread}", f"{score.low:.1f} … {score.high:.1f}"]
    runs = [len(system.runs) for system in comparison.systems]
    return [*columns, "runs"], [[*row, count] for row, count in zip(rows, runs, strict=True)]


def _costs_table(comparison: Comparison) -> Table:
    """One row per system that was measured."""
    rows = [
        [name, f"{cost.parameters:,}", f"{cost.trained:,.0f}", f"{cost.translated:,.1f}", f"{cost.memory / 2**20:,.0f}"]
        for name, cost in comparison.costs.items()
    ]
    return ["system", "parameters", "tokens/s trained", "sentences/s translated", "memory, MiB"], rows


def _pairs_table(comparison: Comparison, metrics: Sequence[str]) -> Table:
    """Every pair of systems by these metrics."""
    rows: list[list[Any]] = []
    for pair in comparison.pairwise:
        tested = pair.difference
        if tested.metric in metrics:
            named = [f"{pair.system} − {pair.baseline}", *([title(tested.metric)] if len(metrics) > 1 else [])]
            interval = f"{tested.low:+.1f} … {tested.high:+.1f}"
            ps = [None if p is None else f"{p:.3f}" for p in (tested.p, pair.corrected, pair.randomised)]
            rows.append([*named, f"{tested.difference:+.1f}", interval, *ps, verdict(pair)])
    by = ["pair", "by"] if len(metrics) > 1 else [title(metrics[0])]
    return [*by, "difference", "95 % interval", "p", "p, Holm", "p, randomised", "in words"], rows


def _runs_table(comparison: Comparison) -> Table:
    """One row per run: its scores, updates and time, and why it ended."""
    rows: list[list[Any]] = []
    for system in comparison.systems:
        for run in system.runs:
            result = run.training
            spent = [None] * 3 if result is None else [result.step, f"{result.seconds / 60:.1f}", result.reason]
            scores = [f"{run.evaluation.scores[metric]:.1f}" for metric in comparison.metrics]
            rows.append([system.name, "given" if run.seed is None else str(run.seed), *scores, *spent])
    return ["system", "seed", *map(title, comparison.metrics), "updates", "minutes", "ended because"], rows


def _settings_tables(comparison: Comparison) -> tuple[Table, Table]:
    """The settings in which systems differ, one column per system, and the settings that all share."""
    flat = {}
    for system in comparison.systems:
        settings = flatten(comparison.settings[system.name])
        flat[system.name] = {key: "none" if value is None else str(value) for key, value in settings.items()}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings)
    rows = [[key, *(settings.get(key) for settings in flat.values())] for key in keys]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    shared = [row[:2] for row in rows if len(set(row[1:])) == 1]
    return (["setting", *flat], differing), (["setting", "all systems"], shared)


def _about(comparison: Comparison) -> list[str]:
    """Paragraphs: the data, and how the systems were trained."""
    plan, recipes = comparison.plan, comparison.plan.recipes
    paragraphs = [f"{len(comparison.pairs.references)} sentences of {comparison.pairs.name}, the same for all systems."]
    if recipes:
        first = next(iter(recipes.values()))
        seeds = ", ".join(map(str, dict.fromkeys(point.seed for point in plan.points)))
        train = first.train
        limits = {"updates": train.max_steps, "minutes": train.max_minutes, "epochs": train.max_epochs}
        budget = ", ".join(f"{value:g} {unit}" for unit, value in limits.items() if value is not None)
        terms = f"All saw the same data for the same budget: at most {budget}, in batches of {train.tokens} tokens."
        if plan.unequal:
            terms = f"Data and budget are NOT equal: {'; '.join(plan.unequal)}."
        paragraphs.append(f"{', '.join(recipes)}: trained here on {first.data.name}, with seeds {seeds}. {terms}")
    if trained := [system.name for system in plan.systems if system.folders]:
        unknown = "It is not known whether their data and budget were equal."
        paragraphs.append(f"{', '.join(trained)}: given as trained models. {unknown}")
    return paragraphs


def _costs_note(comparison: Comparison) -> str:
    cost = next(iter(comparison.costs.values()))
    return (
        f"Measured in {comparison.options.rounds} rounds in which the systems took turns, each in its own process, on "
        f"{cost.device} with {plural(comparison.threads, 'thread')}; the fastest counts. Training "
        "is the forward pass, the backward pass and the update, in target tokens; translation uses a beam of "
        f"{comparison.search.beam}. Memory is the peak; {cost.memory_before / 2**20:,.0f} MiB of it belong to "
        "PyTorch before a model is loaded."
    )


def _significance_note(comparison: Comparison) -> str:
    pairs = plural(len(comparison.systems) * (len(comparison.systems) - 1) // 2, "pair")
    note = (
        f"p: the probability of so large a difference if there is none, by {comparison.options.resamples} draws of "
        f"sentences and of runs. Holm: p after the correction for {pairs}; it decides "
        "the words, at 0.05. Randomised: p by swapping outputs; it holds for these runs, not for other seeds."
    )
    if min(len(system.runs) for system in comparison.systems) == 1:
        note += " A single run does not show how much seeds vary: a claim about a system needs several."
    return note


def _compare_sentence(comparison: Comparison, place: int, by: UnitChoice) -> ComparedSentence:
    sentence, panels = comparison.differing[place], []
    for name, text in sentence.outputs.items():
        score, attention = f"chrF {sentence.chrf[name]:.1f}", comparison.attention[name]
        if isinstance(attention, str):
            reason = f"No heatmap: this model has no attention. It reads the source through {attention}."
            panels.append(Panel(name=name, score=score, text=text, reason=reason))
        else:
            panels.append(Panel.of_attention(name, score, text, attention[place], by))
    return ComparedSentence(source=sentence.source, reference=sentence.reference, panels=panels)
