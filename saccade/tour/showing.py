"""What a contest showed: in the terminal, and as a report that opens from disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from saccade.inspect import Example, Report, Target, terminal_heatmap

FIXED, ATTENTION = "fixed context", "attention"
GAP_AT = "31–40"


def targets(results: Mapping[str, Any]) -> list[Target]:
    """What the tour promises, and whether this run kept it."""
    systems = results["systems"]
    within = systems[ATTENTION]["up_to_20_words"]["bleu"]
    gap = _bleu(systems[ATTENTION], GAP_AT) - _bleu(systems[FIXED], GAP_AT)
    aer = systems[ATTENTION]["alignment"]["aer"]
    return [
        Target(claim="attention: BLEU ≥ 95 on unseen sentences of up to 20 words", reached=within, met=within >= 95),
        Target(claim="at 31–40 words attention is ≥ 30 BLEU above the fixed context", reached=gap, met=gap >= 30),
        Target(claim="AER ≤ 0.15 against the gold alignment", reached=aer, met=aer <= 0.15),
    ]


def _bleu(system: Mapping[str, Any], label: str) -> float:
    return float(next(row["scores"]["bleu"] for row in system["by_length"] if row["label"] == label))


def _senses(results: Mapping[str, Any]) -> list[list[str | float | None]]:
    both = zip(*(results["systems"][name]["ambiguity"] for name in (FIXED, ATTENTION)), strict=True)
    return [
        [one["bucket"], one["items"], one["accuracy"], other["accuracy"], other["control"], other["chance"]]
        for one, other in both
    ]


def _aligners(results: Mapping[str, Any]) -> list[list[str | float | None]]:
    aligned = results["systems"][ATTENTION]["alignment"]
    rows: list[list[str | float | None]] = [["attention", aligned["aer"], aligned["precision"], aligned["recall"]]]
    return rows + [[name, aer, None, None] for name, aer in results["aligners"].items()]


def _examples(results: Mapping[str, Any]) -> list[Example]:
    """One sentence of each range of length."""
    systems, pairs = results["systems"], results["test"]
    each = results["effort"]["judged"]
    return [
        Example(
            source=pairs[i]["source"],
            reference=pairs[i]["target"],
            outputs={name: systems[name]["translations"][i] for name in (FIXED, ATTENTION)},
        )
        for i in range(each // 2, len(pairs), each)
    ]


SENSES = ["words to the cue", "sentences", FIXED, ATTENTION, "attention, cue removed", "chance"]


def show(results: Mapping[str, Any], heatmap: Mapping[str, Any], console: Console) -> None:
    systems = results["systems"]
    for example in _examples(results)[1:6:2]:
        console.print(f"\n[bold]{example.source}[/]\n  [dim]reference[/]      {example.reference}", highlight=False)
        for name, text in example.outputs.items():
            console.print(f"  [dim]{name:13}[/]  {text}", highlight=False)
    if heatmap["target"]:  # a model that has learnt little may write nothing
        console.print("\nWhere attention looked (rows: what it wrote, columns: what it read)")
        terminal_heatmap(heatmap["weights"], heatmap["source"], heatmap["target"], console)

    table = Table("source words", "", FIXED, ATTENTION, title="BLEU on unseen sentences, by length")
    for one, other in zip(systems[FIXED]["by_length"], systems[ATTENTION]["by_length"], strict=True):
        seen = "beyond training" if one["beyond"] else "as in training"
        table.add_row(one["label"], seen, *(f"{row['scores']['bleu']:.1f}" for row in (one, other)))
    console.print(table)
    _print_table(console, "Alignment against gold", ["aligner", "AER", "precision", "recall"], _aligners(results))
    _print_table(console, "Ambiguous words read right, by the distance of what decides them", SENSES, _senses(results))
    for target in targets(results):
        mark = "[green]✓ met[/]" if target.met else "[red]✗ not met[/]"
        console.print(f"{mark}  {target.claim}: {target.reached:.3g}", highlight=False)


def _print_table(console: Console, title: str, columns: list[str], rows: list[list[str | float | None]]) -> None:
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(
            *("–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row)
        )
    console.print(table)


def write_report(results: Mapping[str, Any], heatmap: Mapping[str, Any], path: Path) -> None:
    systems = results["systems"]
    effort = results["effort"]
    report = Report("What attention is for")
    report.text(
        "Two models, the same data",
        f"Both were trained on one CPU core each, on {effort['pairs']:,} English and French pairs of the built-in "
        "phrasebook, with 3 to 20 source words. The test sentences hold combinations of words that training never "
        "showed. The one model squeezes each sentence into a vector of fixed size (cho2014); the other looks back at "
        f"the source for each word that it writes (bahdanau2014). The first made {systems[FIXED]['steps']:,} updates "
        f"and the second {systems[ATTENTION]['steps']:,}, each of which takes twice as long.",
    )
    report.targets("Targets", targets(results))
    rows = systems[ATTENTION]["by_length"]
    report.lines(
        "Quality by sentence length",
        [row["label"] for row in rows],
        {name: [row["scores"]["bleu"] for row in systems[name]["by_length"]] for name in (FIXED, ATTENTION)},
        x="source words",
        y="BLEU",
        counts=[row["count"] for row in rows],
        beyond=[row["beyond"] for row in rows],
    )
    if heatmap["target"]:
        report.heatmap("Where attention looked", heatmap["weights"], heatmap["source"], heatmap["target"])
    report.table("Alignment against gold", ["aligner", "AER", "precision", "recall"], _aligners(results))
    report.table(
        "Ambiguous words, by the distance of what decides them",
        SENSES,
        _senses(results),
        note="The share of sentences in which the right sense was written and the wrong one was not.",
    )
    report.examples("Translations", _examples(results))
    report.table(
        "The models",
        ["model", "parameters", "steps", "seconds", "BLEU up to 20 words"],
        [
            [one["model"], one["parameters"], one["steps"], one["seconds"], one["up_to_20_words"]["bleu"]]
            for one in systems.values()
        ],
    )
    report.provenance("Made by", results["provenance"])
    report.save(path)


def look(folder: Path, source: str) -> dict[str, Any]:
    """A translation of one sentence, and where the model looked for it."""
    from saccade.decode.loading import load

    translation = load(folder, device="cpu").translate([source])[0]
    assert translation.attention is not None
    read, wrote = translation.attention.units("word")
    return {"source": list(read), "target": list(wrote), "weights": translation.attention.words().tolist()}
