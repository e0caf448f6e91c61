"""The report of a comparison: one HTML file that opens from disk, offline."""

from collections.abc import Sequence
from pathlib import Path

from saccade.align import PairAttention
from saccade.comparison.judging import LONGEST_SHOWN, DifferingSentence
from saccade.comparison.result import Comparison
from saccade.comparison.tables import (
    costs_table,
    pairs_table,
    runs_table,
    scores_table,
    settings_tables,
)
from saccade.evaluation.tables import behaviour_table, title
from saccade.inspect import ComparedSentence, Interval, Panel, Report
from saccade.text.words import UnitChoice


def write_report(comparison: Comparison, path: Path, by: UnitChoice = "auto") -> None:
    """`by` is the unit of the heatmaps."""
    report = Report(f"Comparison of {', '.join(system.name for system in comparison.systems)}")
    _about(report, comparison)
    metric = comparison.metrics[0]
    rows = {
        system.name: Interval(score.mean, score.low, score.high, score.runs)
        for system in comparison.systems
        for score in (system.scores[metric],)
    }
    report.intervals(
        f"{title(metric)} of each system",
        rows,
        x=title(metric),
        note="The marker is the mean over runs, each stroke a run, the bar the 95 % interval over sentences and runs.",
    )
    report.table("Scores", *scores_table(comparison), note="Means over runs ± the standard deviation between runs.")
    if comparison.costs:
        report.table("Costs", *costs_table(comparison), note=_costs_note(comparison))
    _significance(report, comparison)
    _lengths(report, comparison)
    behaviours = {system.name: system.behaviour() for system in comparison.systems}
    report.table("Behaviour", *behaviour_table(behaviours), note="Means over runs; 100 % is all.")
    if comparison.differing:
        report.sentences(
            "Where they differ most",
            [_compare_sentence(comparison, place, by) for place in range(len(comparison.differing))],
            note=f"The sentences of at most {LONGEST_SHOWN} words with the widest gap in chrF between systems, each "
            "the mean over runs, with the output of each system's first run.",
        )
    report.table("Every run", *runs_table(comparison))
    differing, shared = settings_tables(comparison)
    report.table("Settings in which they differ", *differing)
    report.table("Settings that all share", *shared, folded=f"{len(shared[1])} settings")
    report.provenance("Made by", comparison.provenance)
    report.save(path)


def _about(report: Report, comparison: Comparison) -> None:
    recipes = comparison.plan.recipes
    paragraphs = [f"{len(comparison.pairs.references)} sentences of {comparison.pairs.name}, the same for all systems."]
    if recipes:
        first = next(iter(recipes.values()))
        seeds = list(dict.fromkeys(point.seed for point in comparison.plan.points))
        limits = {"steps": "updates", "minutes": "minutes", "epochs": "epochs"}
        values = {unit: getattr(first.train, f"max_{key}") for key, unit in limits.items()}
        budget = [f"{value:g} {unit}" for unit, value in values.items() if value is not None]
        paragraphs.append(
            f"{', '.join(recipes)}: trained here on {first.data.name}, with seeds {', '.join(map(str, seeds))}. "
            + (
                "Data and budget are NOT equal: " + "; ".join(comparison.plan.unequal) + "."
                if comparison.plan.unequal
                else f"All saw the same data for the same budget: at most {', '.join(budget)}, in batches of "
                f"{first.train.tokens} tokens."
            )
        )
    if given := [system.name for system in comparison.plan.systems if system.folders]:
        paragraphs.append(
            f"{', '.join(given)}: given as trained models. It is not known whether their data and budget were equal."
        )
    report.text("What was compared", "\n\n".join(paragraphs))


def _costs_note(comparison: Comparison) -> str:
    cost = next(iter(comparison.costs.values()))
    return (
        f"Measured in {comparison.options.rounds} rounds in which the systems took turns, each in its own process, on "
        f"{cost.device} with {comparison.threads} thread{'s' * (comparison.threads > 1)}; the fastest counts. Training "
        "is the forward pass, the backward pass and the update, in target tokens; translation uses a beam of "
        f"{comparison.search.beam}. Memory is the peak; {cost.memory_before / 2**20:,.0f} MiB of it belong to "
        "PyTorch before a model is loaded."
    )


def _significance(report: Report, comparison: Comparison) -> None:
    pairs = len(comparison.systems) * (len(comparison.systems) - 1) // 2
    note = (
        f"p: the probability of so large a difference if there is none, by {comparison.options.resamples} draws of "
        f"sentences and of runs. Holm: p after the correction for {pairs} pair{'s' * (pairs > 1)}; it decides "
        "the words, at 0.05. Randomised: p by swapping outputs; it holds for these runs, not for other seeds."
    )
    if min(len(system.runs) for system in comparison.systems) == 1:
        note += " A single run does not show how much seeds vary: a claim about a system needs several."
    report.table(
        f"Is it better? By {title(comparison.metrics[0])}", *pairs_table(comparison, comparison.metrics[:1]), note=note
    )
    others = " and ".join(map(title, comparison.metrics[1:]))
    report.table(f"By {others}", *pairs_table(comparison, comparison.metrics[1:]), folded=f"Every pair by {others}")


def _lengths(report: Report, comparison: Comparison) -> None:
    metric = comparison.metrics[0]
    rows = comparison.systems[0].runs[0].evaluation.lengths
    filled = [place for place, row in enumerate(rows) if row.sentences]
    report.lines(
        "By source length",
        [rows[place].bucket.label for place in filled],
        {system.name: [system.lengths(metric)[place] for place in filled] for system in comparison.systems},
        x="source words",
        y=title(metric),
        counts=[rows[place].sentences for place in filled],
        beyond=[rows[place].beyond for place in filled],
        note="Means over runs.",
    )


def _compare_sentence(comparison: Comparison, place: int, by: UnitChoice) -> ComparedSentence:
    sentence = comparison.differing[place]
    panels = [_panel(name, sentence, comparison.attention[name], place, by) for name in sentence.outputs]
    return ComparedSentence(source=sentence.source, reference=sentence.reference, panels=panels)


def _panel(
    name: str, sentence: DifferingSentence, attention: Sequence[PairAttention] | str, place: int, by: UnitChoice
) -> Panel:
    score, text = f"chrF {sentence.chrf[name]:.1f}", sentence.outputs[name]
    if isinstance(attention, str):
        reason = f"No heatmap: this model has no attention. It reads {attention}."
        return Panel(name=name, score=score, text=text, reason=reason)
    return Panel.of_attention(name, score, text, attention[place], by)
