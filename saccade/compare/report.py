"""A comparison as one HTML file that opens from disk, offline."""

from collections.abc import Sequence
from pathlib import Path

from saccade.compare.comparison import Comparison
from saccade.compare.judging import LONGEST_SHOWN, METRICS, DifferingSentence
from saccade.compare.tables import (
    behaviour_table,
    costs_table,
    pairs_table,
    runs_table,
    scores_table,
    settings_tables,
    title,
)
from saccade.decode import Attended
from saccade.inspect import MOST_DRAWN, Beside, Interval, Panel, Report
from saccade.text.words import UnitChoice


def write_report(found: Comparison, path: Path, by: UnitChoice = "auto") -> None:
    """`by`: what the heatmaps are between."""
    report = Report(f"Comparison of {', '.join(system.name for system in found.systems)}")
    _about(report, found)
    metric = METRICS[0]
    rows = {
        system.name: Interval(score.mean, score.low, score.high, score.runs)
        for system in found.systems
        for score in (system.scores[metric],)
    }
    report.intervals(
        f"{title(metric)} of each system",
        rows,
        x=title(metric),
        note="The shape is the mean over runs, a stroke each run, the bar the 95 % interval over sentences and runs.",
    )
    report.table("Scores", *scores_table(found), note="Means over runs ± their standard deviation between runs.")
    if found.costs:
        report.table("Costs", *costs_table(found), note=_costs_note(found))
    _significance(report, found)
    _lengths(report, found)
    report.table("Behaviour", *behaviour_table(found), note="Means over runs; 100 % is all.")
    if found.apart:
        report.beside(
            "Where they differ most",
            [_beside(found, place, one, by) for place, one in enumerate(found.apart)],
            note=f"The sentences of at most {LONGEST_SHOWN} words with the widest gap in chrF between systems, each "
            "the mean over runs; shown is the first run of each.",
        )
    report.table("Every run", *runs_table(found))
    differing, shared = settings_tables(found)
    report.table("Settings in which they differ", *differing)
    report.table("Settings that all share", *shared, folded=f"{len(shared[1])} settings")
    report.provenance("Made by", found.provenance)
    report.save(path)


def _about(report: Report, found: Comparison) -> None:
    recipes = found.plan.recipes
    said = [f"{len(found.pairs.sources)} sentences of {found.pairs.name}, the same for all systems."]
    if recipes:
        first = next(iter(recipes.values()))
        seeds = list(dict.fromkeys(point.seed for point in found.plan.points))
        budget = [
            f"{value:g} {unit}"
            for unit, value in (
                ("updates", first.train.max_steps),
                ("minutes", first.train.max_minutes),
                ("epochs", first.train.max_epochs),
            )
            if value is not None
        ]
        said.append(
            f"{', '.join(recipes)}: trained here on {first.data.name}, with seeds {', '.join(map(str, seeds))}. "
            + (
                "Data and budget are NOT equal: " + "; ".join(found.plan.unequal) + "."
                if found.plan.unequal
                else f"All saw the same data for the same budget: at most {', '.join(budget)}, in batches of "
                f"{first.train.tokens} pieces."
            )
        )
    if given := [system.name for system in found.plan.systems if system.folders]:
        said.append(
            f"{', '.join(given)}: given as trained models. Whether their data and budget were equal is not known here."
        )
    report.text("What was compared", "\n\n".join(said))


def _costs_note(found: Comparison) -> str:
    cost = next(iter(found.costs.values()))
    return (
        f"Measured in {found.effort.rounds} rounds in which the systems took turns, each in a process of its own, on "
        f"{cost.device} with {found.threads} thread{'s' * (found.threads > 1)}; the fastest counts. Training is "
        "forwards, backwards and the update, in target pieces; translating is by a beam of "
        f"{found.effort.search.beam}. Memory is at its peak; {cost.memory_before / 2**20:,.0f} MiB of it are PyTorch's "
        "before a model is loaded."
    )


def _significance(report: Report, found: Comparison) -> None:
    pairs = len(found.systems) * (len(found.systems) - 1) // 2
    note = (
        f"p: how likely so large a difference is where there is none, by {found.effort.resamples} draws of sentences "
        f"and of runs. Holm: the same p after the correction for {pairs} pairs, which decides the words, at 0.05. "
        "Randomised: by swapping the outputs of sentences; it speaks of these runs alone, not of further seeds."
    )
    if min(len(system.runs) for system in found.systems) == 1:
        note += " A single run cannot tell how seeds vary: a claim about a method needs several."
    report.table(f"Is it better? By {title(METRICS[0])}", *pairs_table(found, METRICS[:1]), note=note)
    others = " and ".join(map(title, METRICS[1:]))
    report.table(f"By {others}", *pairs_table(found, METRICS[1:]), folded=f"Every pair by {others}")


def _lengths(report: Report, found: Comparison) -> None:
    metric = METRICS[0]
    rows = found.systems[0].runs[0].evaluation.lengths
    there = [place for place, row in enumerate(rows) if row.sentences]
    report.lines(
        "By source length",
        [rows[place].bucket.label for place in there],
        {system.name: [system.lengths(metric)[place] for place in there] for system in found.systems},
        x="source words",
        y=title(metric),
        counts=[rows[place].sentences for place in there],
        beyond=[rows[place].beyond for place in there],
        note="Means over runs.",
    )


def _beside(found: Comparison, place: int, one: DifferingSentence, by: UnitChoice) -> Beside:
    panels = [_panel(name, one, found.looked[name], place, by) for name in one.outputs]
    return Beside(source=one.source, reference=one.reference, panels=panels)


def _panel(name: str, one: DifferingSentence, looked: Sequence[Attended] | str, place: int, by: UnitChoice) -> Panel:
    said, text = f"chrF {one.chrf[name]:.1f}", one.outputs[name]
    if isinstance(looked, str):
        instead = f"No heatmap: there is no attention to look at. This model reads {looked}."
        return Panel(name=name, said=said, text=text, weights=None, instead=instead)
    seen = looked[place]
    unit = seen.unit(by)
    source, target = seen.units(unit)
    most = MOST_DRAWN[unit]  # an output that repeats itself without end is no figure
    if not 0 < len(target) <= most:
        instead = f"No heatmap: it wrote {len(target)} {unit}s; from 1 to {most} are drawn."
        return Panel(name=name, said=said, text=text, weights=None, instead=instead)
    return Panel(
        name=name,
        said=said,
        text=text,
        weights=seen.weights(by=unit),
        source=source,
        target=target,
        unit=unit,
    )
