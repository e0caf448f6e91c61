"""The report of an evaluation: one HTML file that opens from disk, offline."""

from pathlib import Path

from saccade.evaluation.systems import SystemsEvaluation
from saccade.evaluation.tables import (
    behaviour_table,
    constraints_table,
    difference_table,
    frequency_table,
    gold_table,
    scores_table,
    signatures,
    tests,
    title,
)
from saccade.inspect import ComparedSentence, Panel, Report
from saccade.provenance import provenance
from saccade.text.words import UnitChoice


def write_report(result: SystemsEvaluation, path: Path, by: UnitChoice = "auto") -> None:
    """`by` is the unit of the heatmaps."""
    data, runs = result.data, result.runs
    report = Report(f"{', '.join(system.name for system in result.systems)} on {data.name}")
    report.table("Scores", *scores_table(result), note=f"{len(data.references)} pairs")
    for heading, differences in tests(result):
        report.table(heading, *difference_table(differences), note=f"by {differences[0].test}")
    report.sentences(
        "Worst sentences first",
        [_compare_sentence(result, number, by) for number in range(len(result.worst))],
        note=f"The sentences with the lowest chrF of {runs[0].name}.",
    )
    if lengths := runs[0].evaluation.lengths:
        metric = result.metrics[0]
        report.lines(
            "By source length",
            [row.bucket.label for row in lengths],
            {run.name: [row.scores[metric] if row.scores else None for row in run.evaluation.lengths] for run in runs},
            x="source words",
            y=title(metric),
            counts=[row.sentences for row in lengths],
            beyond=[row.beyond for row in lengths],
        )
    for heading, (columns, rows) in (
        ("By the frequency of words", frequency_table(result)),
        ("Behaviour", behaviour_table({run.name: run.evaluation.behaviour.to_dict() for run in runs})),
        ("Constraints", constraints_table(result)),
        ("Alignment to gold", gold_table(result)),
    ):
        if rows:
            report.table(heading, columns, rows)
    report.text("How it was counted", "\n\n".join(signatures(result)))
    report.provenance("Made by", provenance())
    report.save(path)


def _compare_sentence(result: SystemsEvaluation, number: int, by: UnitChoice) -> ComparedSentence:
    place, panels = result.worst[number], []
    for run, scores in zip(result.runs, result.sentence_scores, strict=True):
        attention = run.attention
        panels.append(
            Panel.of_attention(
                run.name,
                f"chrF {scores[place]:.1f}",
                run.texts[place],
                attention[number] if attention is not None and number < len(attention) else None,
                by,
            )
        )
    source = result.data.sources[place] if result.data.sources else ""
    return ComparedSentence(source=source, reference=" / ".join(result.data.references[place]), panels=panels)
