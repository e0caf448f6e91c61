"""The results of the tour in the terminal, and as a report that opens from disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from saccade.inspect import ComparedSentence, Panel, Report, Target, terminal_heatmap

FIXED, ATTENTION = "fixed context", "attention"
GAP_AT = "31–40"
Rows = list[list[str | float | None]]


def targets(results: Mapping[str, Any]) -> list[Target]:
    """The promises of the tour, and whether this run kept them."""
    fixed, attention = (results["systems"][name] for name in (FIXED, ATTENTION))
    rows = zip(attention["by_length"], fixed["by_length"], strict=True)
    gap = next(row["scores"]["bleu"] - below["scores"]["bleu"] for row, below in rows if row["label"] == GAP_AT)
    within, aer = attention["up_to_20_words"]["bleu"], attention["alignment"]["aer"]
    return [
        Target(claim="attention: BLEU ≥ 95 on unseen sentences of up to 20 words", reached=within, met=within >= 95),
        Target(claim="at 31–40 words attention is ≥ 30 BLEU above the fixed context", reached=gap, met=gap >= 30),
        Target(claim="AER ≤ 0.15 against the gold alignment", reached=aer, met=aer <= 0.15),
    ]


def _examples(results: Mapping[str, Any]) -> list[ComparedSentence]:
    """One sentence from each range of lengths."""
    systems, pairs, count = results["systems"], results["test"], results["effort"]["judged"]
    return [
        ComparedSentence(
            source=pairs[i]["source"],
            reference=pairs[i]["target"],
            panels=[Panel(name=name, text=systems[name]["translations"][i]) for name in (FIXED, ATTENTION)],
        )
        for i in range(count // 2, len(pairs), count)
    ]


def _tables(results: Mapping[str, Any]) -> list[tuple[str, list[str], Rows]]:
    fixed, attention = (results["systems"][name] for name in (FIXED, ATTENTION))
    aligners: Rows = [["attention", *(attention["alignment"][key] for key in ("aer", "precision", "recall"))]]
    aligners += [[name, aer, None, None] for name, aer in results["aligners"].items()]
    senses: Rows = [
        [row["bucket"], row["items"], below["accuracy"], row["accuracy"], row["control"], row["chance"]]
        for row, below in zip(attention["ambiguity"], fixed["ambiguity"], strict=True)
    ]
    columns = ["words to the cue", "sentences", FIXED, ATTENTION, "attention, cue removed", "chance"]
    return [
        ("Alignment against gold", ["aligner", "AER", "precision", "recall"], aligners),
        ("Ambiguous words translated correctly, by the distance of their cue", columns, senses),
    ]


def show(results: Mapping[str, Any], console: Console) -> None:
    """Print the results as examples, a heatmap and tables."""
    systems, heatmap = results["systems"], results["heatmap"]
    for example in _examples(results)[1:6:2]:
        console.print(f"\n[bold]{example.source}[/]\n  [dim]reference[/]      {example.reference}", highlight=False)
        for panel in example.panels:
            console.print(f"  [dim]{panel.name:13}[/]  {panel.text}", highlight=False)
    if heatmap["target"]:  # a model that has learnt little may write nothing
        console.print("\nWhere attention looked (rows: the translation, columns: the source)")
        terminal_heatmap(heatmap["weights"], heatmap["source"], heatmap["target"], console)
    lengths: Rows = [
        [fixed["label"], "longer than training" if fixed["beyond"] else "as in training"]
        + [f"{row['scores']['bleu']:.1f}" for row in (fixed, attention)]
        for fixed, attention in zip(systems[FIXED]["by_length"], systems[ATTENTION]["by_length"], strict=True)
    ]
    by_length = ("BLEU on unseen sentences, by length", ["source words", "", FIXED, ATTENTION], lengths)
    for title, columns, rows in (by_length, *_tables(results)):
        table = Table(*columns, title=title)
        for row in rows:
            cells = ("–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row)
            table.add_row(*cells)
        console.print(table)
    for target in targets(results):
        mark = "[green]✓ met[/]" if target.met else "[red]✗ not met[/]"
        console.print(f"{mark}  {target.claim}: {target.reached:.3g}", highlight=False)


def write_report(results: Mapping[str, Any], path: Path) -> None:
    systems, heatmap = results["systems"], results["heatmap"]
    report = Report("The effect of attention")
    report.text(
        "Two models, the same data",
        f"Each was trained on one CPU core, on {results['effort']['pairs']:,} English and French pairs of the built-in "
        "phrasebook, with 3 to 20 source words. The test sentences contain combinations of words that are not in the "
        "training data. One model squeezes each sentence into a vector of fixed size (cho2014); the other looks back "
        f"at the source for each word that it writes (bahdanau2014). The first made {systems[FIXED]['steps']:,} "
        f"updates and the second {systems[ATTENTION]['steps']:,}, each of which takes twice as long.",
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
    for table in _tables(results):
        report.table(*table)
    report.sentences("Translations", _examples(results))
    report.table(
        "The models",
        ["model", "parameters", "updates", "seconds", "BLEU up to 20 words"],
        [
            [*(system[key] for key in ("model", "parameters", "steps", "seconds")), system["up_to_20_words"]["bleu"]]
            for system in systems.values()
        ],
    )
    report.provenance("Made by", results["provenance"])
    report.save(path)


def translate_example(folder: Path, source: str) -> dict[str, Any]:
    """The translation of one sentence, with its attention weights."""
    from saccade.decode.loading import load

    translation = load(folder, device="cpu").translate([source])[0]
    assert translation.attention is not None
    read, written = translation.attention.units("word")
    return {"source": list(read), "target": list(written), "weights": translation.attention.words().tolist()}
