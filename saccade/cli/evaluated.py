"""What `saccade evaluate` says: tables, JSON, and a report."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.cli.console import print_table, show
from saccade.cli.material import Material
from saccade.cli.systems import Run, System, examples_of

if TYPE_CHECKING:
    from saccade.align import AlignmentScores, GoldLinks
    from saccade.evaluate import Difference
    from saccade.text.words import UnitChoice

BEHAVIOUR = {
    "length_ratio": "length ratio",
    "short": "short outputs, %",
    "repeated": "words repeated in a row, %",
    "repeated_in_references": "the same in the references, %",
    "repeated_beyond": "pairs of words repeated beyond the reference, %",
    "copied": "words copied that the reference has not, %",
    "unread": "source words hardly read, %",
}


@dataclass(frozen=True, kw_only=True)
class Results:
    material: Material
    systems: list[System]
    differences: "list[tuple[Difference, ...]]"  # of every other system to the first
    gold: "list[GoldLinks] | None"
    tokenised: bool  # words are what blanks separate

    @property
    def runs(self) -> list[Run]:
        return [run for system in self.systems for run in system.runs]

    def aligners(self) -> "dict[str, AlignmentScores]":
        """Two that read nothing, to compare with."""
        from saccade.align import diagonal_links, score_alignments, score_uniform
        from saccade.text import words

        if self.gold is None:
            return {}
        cut = str.split if self.tokenised else words
        sizes = [(len(cut(source)), len(cut(target))) for source, target in self.material.pairs]
        return {
            "diagonal": score_alignments([diagonal_links(*size) for size in sizes], self.gold),
            "uniform": score_uniform(self.gold, sizes),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.material.name,
            "left_out": self.material.left_out,
            "systems": [
                {
                    "name": system.name,
                    "runs": [
                        {
                            "name": run.name,
                            **run.evaluation.to_dict(),
                            "alignment": run.output.alignment and run.output.alignment.to_dict(),
                        }
                        for run in system.runs
                    ],
                }
                for system in self.systems
            ],
            "differences": [
                {"name": system.name, "against": self.systems[0].name, **one.to_dict()}
                for system, found in zip(self.systems[1:], self.differences, strict=True)
                for one in found
            ],
            "aligners": {name: one.to_dict() for name, one in self.aligners().items()},
        }


def print_results(results: Results, *, by_length: bool, by_frequency: bool) -> None:
    show(f"{len(results.material.references)} pairs of {results.material.name}")
    for columns, rows in (
        scores_table(results),
        lengths_table(results) if by_length else ([], []),
        frequency_table(results) if by_frequency else ([], []),
        behaviour_table(results),
        constraints_table(results),
        alignment_table(results),
    ):
        if rows:
            print_table(columns, [[_cell(value) for value in row] for row in rows])
    for metric, measured in results.runs[0].evaluation.scores.measured.items():
        show(f"{_title(metric)}: {measured.signature}")
    for system, found in zip(results.systems[1:], results.differences, strict=True):
        show(f"\n{system.name} against {results.systems[0].name}, by {found[0].test}")
        columns, rows = difference_table(found)
        print_table(columns, [[_cell(value) for value in row] for row in rows])


Table = tuple[list[str], list[list[Any]]]


def scores_table(results: Results) -> Table:
    """A row a metric, a column a run: the score, and its interval where there is one."""
    runs = results.runs
    rows = [
        [_title(metric), *(_with_interval(run, metric) for run in runs)]
        for metric in runs[0].evaluation.scores.measured
    ]
    return ["", *(run.name for run in runs)], rows


def lengths_table(results: Results) -> Table:
    """Of one run, all metrics; of several, the first metric of each."""
    runs = results.runs
    metrics = list(runs[0].evaluation.scores.measured)
    shown = [(run, metric) for run in runs for metric in (metrics if len(runs) == 1 else metrics[:1])]
    rows = []
    for place, row in enumerate(runs[0].evaluation.lengths):
        if row.scores:
            found = [run.evaluation.lengths[place].scores for run, _ in shown]
            values = [one[metric] if one else None for one, (_, metric) in zip(found, shown, strict=True)]
            label = row.bucket.label + (" (beyond training)" if row.beyond else "")
            rows.append([label, *values, row.sentences])
    names = [_title(metric) if len(runs) == 1 else f"{_title(metric)}, {run.name}" for run, metric in shown]
    return ["source words", *names, "pairs"], rows


def frequency_table(results: Results) -> Table:
    """Of one run, all shares; of several, the F of each."""
    runs = results.runs
    rows: list[list[Any]] = []
    found = [{row.bucket: row for row in run.evaluation.frequencies} for run in runs]
    for bucket in sorted({bucket for some in found for bucket in some}, key=lambda bucket: bucket.low):
        here = [some.get(bucket) for some in found]
        shares = [one.f if one else None for one in here]
        if len(runs) == 1 and here[0] is not None:
            shares = [here[0].precision, here[0].recall, here[0].f]
        if any(share is not None for share in shares):
            rows.append([bucket.label, *map(_share, shares), max(one.expected for one in here if one)])
    names = ["precision", "recall", "F"] if len(runs) == 1 else [f"F, {run.name}" for run in runs]
    return ["times counted", *names, "words"], rows


def behaviour_table(results: Results) -> Table:
    found = [run.evaluation.behaviour.to_dict() for run in results.runs]
    rows: list[list[Any]] = [
        [title, *(None if one[name] is None else f"{one[name]:.2f}" for one in found)]
        for name, title in BEHAVIOUR.items()
        if any(one[name] is not None for one in found)
    ]
    return ["", *(run.name for run in results.runs)], rows


def constraints_table(results: Results) -> Table:
    rows = []
    for run in results.runs:
        if one := run.evaluation.constraints:
            met = f"{one.included} of {one.include}", f"{one.excluded} of {one.exclude}"
            rows.append([run.name, *met, _share(one.share), f"{one.satisfied} of {one.sentences}"])
    return ["constraints", "included", "excluded", "met", "sentences"], rows


def alignment_table(results: Results) -> Table:
    found = {run.name: run.output.alignment for run in results.runs} | results.aligners()
    if results.gold is None:
        return [], []
    nothing = [None] * 3
    rows = [[name, *(_numbers(one) if one else nothing)] for name, one in found.items()]
    return ["alignment to gold", "AER", "precision", "recall"], rows


def difference_table(found: "Sequence[Difference]") -> Table:
    rows = [
        [
            _title(one.metric),
            one.baseline,
            one.system,
            f"{one.difference:+.2f}",
            f"{one.low:+.2f} … {one.high:+.2f}",
            f"{one.p:.4f}",
        ]
        for one in found
    ]
    return ["", "first", "this", "difference", "95 % interval", "p"], rows


def write_report(path: Path, results: Results, by: "UnitChoice" = "auto") -> None:
    """`by`: what the heatmaps are between."""
    from saccade.inspect import MOST_DRAWN, Example, Report
    from saccade.provenance import provenance

    material, runs = results.material, results.runs
    report = Report(f"{', '.join(system.name for system in results.systems)} on {material.name}")
    signatures = "\n\n".join(
        f"{_title(name)}: {one.signature}" for name, one in runs[0].evaluation.scores.measured.items()
    )
    report.table("Scores", *scores_table(results), note=f"{len(material.references)} pairs")
    for system, found in zip(results.systems[1:], results.differences, strict=True):
        heading = f"{system.name} against {results.systems[0].name}"
        report.table(heading, *difference_table(found), note=f"by {found[0].test}")
    if lengths := runs[0].evaluation.lengths:
        metric = next(iter(runs[0].evaluation.scores.measured))
        report.lines(
            "By source length",
            [row.bucket.label for row in lengths],
            {run.name: [row.scores[metric] if row.scores else None for row in run.evaluation.lengths] for run in runs},
            x="source words",
            y=_title(metric),
            counts=[row.sentences for row in lengths],
            beyond=[row.beyond for row in lengths],
        )
    for heading, (columns, rows) in (
        ("By the frequency of words", frequency_table(results)),
        ("Behaviour", behaviour_table(results)),
        ("Constraints", constraints_table(results)),
        ("Alignment to gold", alignment_table(results)),
    ):
        if rows:
            report.table(heading, columns, rows)
    examples = [
        Example(
            source=material.sources[place] if material.sources else "",
            reference=" / ".join(material.references[place]),
            outputs={run.name: run.output.texts[place] for run in runs},
        )
        for place in examples_of(material)
    ]
    report.examples("Examples, from short to long", examples)
    for run in runs:
        for attended in run.output.drawn:
            unit = attended.unit(by)
            source, target = attended.units(unit)
            if 0 < len(source) <= MOST_DRAWN[unit] and target:
                heading = f"Where {run.name} read: {' '.join(attended.source.words)}"
                report.heatmap(heading, attended.weights(by=unit), source, target, unit=unit)
    report.text("How it was counted", signatures)
    report.provenance("Made by", provenance(command=" ".join(["saccade", *sys.argv[1:]])))
    report.save(path)


def _with_interval(run: Run, metric: str) -> str:
    one = run.evaluation.scores.measured[metric]
    return f"{one.value:.1f}" + ("" if one.low is None else f" [{one.low:.1f}, {one.high:.1f}]")


def _title(metric: str) -> str:
    from saccade.evaluate import METRICS

    return METRICS[metric].title


def _numbers(one: "AlignmentScores") -> list[str]:
    return [f"{x:.3f}" for x in (one.aer, one.precision, one.recall)]


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)
