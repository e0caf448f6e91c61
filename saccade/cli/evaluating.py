"""`saccade evaluate`: how good a model's translations and alignments are."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saccade.cli.translating import BatchTokens, Beam, Device, LengthPenalty, Model, bar, interruptible, searching
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.decode import Translation, Translator
    from saccade.evaluate import AlignmentScores, GoldLinks, LengthScores, Scores

TASK = "task:"
EXAMPLES, DRAWN = 8, 3  # in the report: sentences, and heatmaps of them
WIDEST_DRAWN = 30  # words


@dataclass(frozen=True, kw_only=True)
class Material:
    name: str
    sources: list[str]
    references: list[str]
    gold: "list[GoldLinks] | None"
    left_out: int  # pairs with a blank side


@dataclass(frozen=True, kw_only=True)
class Results:
    material: Material
    translations: "list[Translation]"
    scores: "Scores"
    lengths: "tuple[LengthScores, ...]"
    alignments: "dict[str, AlignmentScores] | None"  # by aligner, against gold

    def as_dict(self) -> dict[str, Any]:
        alignments = None
        if self.alignments is not None:
            alignments = {name: scores.as_dict() for name, scores in self.alignments.items()}
        return {
            "pairs": self.material.name,
            "left_out": self.material.left_out,
            **self.scores.as_dict(),
            "by_length": [row.as_dict() for row in self.lengths],
            "alignment": alignments,
        }


def evaluate(
    model: Model,
    pairs: Annotated[str, typer.Argument(help="A TSV file, the sources of two files, or task:NAME.")],
    targets: Annotated[Path | None, typer.Argument(help="The references, where PAIRS are the sources.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Gold word alignments, a line a pair: 0-0 1p2 …")] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = 1.0,
    layer: Annotated[
        int | None, typer.Option(help="The decoder layer that aligns: the last but one unless said.")
    ] = None,
    count: Annotated[int, typer.Option(help="Pairs of a task's test split.", min=1)] = 500,
    seed: Annotated[int, typer.Option(help="Of a task's pairs.")] = 1,
    by_length: Annotated[bool, typer.Option("--by-length", help="Show scores by source length, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
) -> None:
    """Translate pairs and score the result: BLEU, chrF, exact match, and alignments where gold ones are known.

    Example: [bold]saccade evaluate my-model test.tsv --by-length --report report.html[/]
    """
    how = searching(beam, length_penalty)
    material = _task(pairs, count, seed) if pairs.startswith(TASK) else _files(pairs, targets, gold)
    if pairs.startswith(TASK) and (targets is not None or gold is not None):
        raise UserError(f"{pairs} brings its own targets and gold alignments; leave out {targets or gold}")

    from saccade import checkpoint
    from saccade.decode import load
    from saccade.evaluate import by_length as score_lengths
    from saccade.evaluate import score

    translator = load(model, device=device)
    with interruptible():
        with bar("translating", len(material.sources)) as progress:
            translations = translator.translate(material.sources, how, batch_tokens=batch_tokens, progress=progress)
        texts = [one.text for one in translations]
        results = Results(
            material=material,
            translations=translations,
            scores=score(texts, material.references),
            lengths=score_lengths(
                material.sources,
                texts,
                material.references,
                longest_trained=checkpoint.load_config(model).extra.get("longest_trained"),
            ),
            alignments=_alignments(translator, material, layer, batch_tokens),
        )
    if material.left_out:
        typer.echo(f"left out: {material.left_out} pairs with a blank side", err=True)
    if as_json:
        typer.echo(json.dumps({"model": str(model), **results.as_dict()}, ensure_ascii=False, indent=2))
    else:
        _print(results, by_length=by_length)
    if report is not None:
        _write_report(report, model, results)
        typer.echo(f"report: {report}", err=True)


def _task(name: str, count: int, seed: int) -> Material:
    from saccade.evaluate import GoldLinks
    from saccade.tasks import task

    pairs = list(task(name.removeprefix(TASK)).pairs(count, seed, split="test"))
    aligned = [GoldLinks.all_sure(pair.alignment) for pair in pairs if pair.alignment is not None]
    return Material(
        name=f"{name}, test split, seed {seed}",
        sources=[pair.source for pair in pairs],
        references=[pair.target for pair in pairs],
        gold=aligned if len(aligned) == len(pairs) else None,
        left_out=0,
    )


def _files(source: str, target: Path | None, gold: Path | None) -> Material:
    from saccade.data import PairFiles
    from saccade.evaluate import read_gold
    from saccade.text import words

    files = PairFiles(source, target)
    every = list(files)
    links = gold and read_gold(gold, lengths=[(len(words(p.source)), len(words(p.target))) for p in every])
    kept = [place for place, pair in enumerate(every) if pair.source.strip() and pair.target.strip()]
    if not kept:
        raise UserError(f"{files}: every pair has a blank side; expected texts to translate and their references")
    return Material(
        name=str(files),
        sources=[every[place].source for place in kept],
        references=[every[place].target for place in kept],
        gold=[links[place] for place in kept] if links else None,
        left_out=len(every) - len(kept),
    )


def _alignments(
    translator: "Translator", material: Material, layer: int | None, batch_tokens: int
) -> "dict[str, AlignmentScores] | None":
    """Of the references, which the gold is about, forced through the model; beside two aligners that read nothing."""
    from saccade.evaluate import diagonal_links, score_alignments, score_uniform
    from saccade.text import words

    if material.gold is None:
        return None
    both = zip(material.sources, material.references, strict=True)
    sizes = [(len(words(source)), len(words(reference))) for source, reference in both]
    found = {}
    if translator.attends:
        attended = translator.attend(material.sources, material.references, batch_tokens=batch_tokens)
        found["attention"] = score_alignments([one.alignment(layer) for one in attended], material.gold)
    found["diagonal"] = score_alignments([diagonal_links(*size) for size in sizes], material.gold)
    found["uniform"] = score_uniform(material.gold, sizes)
    return found


def _print(results: Results, *, by_length: bool) -> None:
    scores = results.scores
    typer.echo(f"{scores.sentences} pairs of {results.material.name}")
    typer.echo(f"BLEU  {scores.bleu:5.1f}  {scores.bleu_signature}")
    typer.echo(f"chrF  {scores.chrf:5.1f}  {scores.chrf_signature}")
    typer.echo(f"exact {scores.exact:5.1f}  percent of the pairs")
    if by_length:
        rows = [
            [
                row.bucket.label + (" (beyond training)" if row.beyond else ""),
                *(f"{x:.1f}" for x in (row.scores.bleu, row.scores.chrf, row.scores.exact)),
                str(row.sentences),
            ]
            for row in results.lengths
            if row.scores
        ]
        _print_table(["source words", "BLEU", "chrF", "exact", "pairs"], rows)
    if results.alignments is not None:
        aligned = [
            [name, *(f"{x:.3f}" for x in (one.aer, one.precision, one.recall))]
            for name, one in results.alignments.items()
        ]
        _print_table(["alignment to gold", "AER", "precision", "recall"], aligned)
        if "attention" not in results.alignments:
            typer.echo("the model reads one fixed vector: it has no alignment of its own")


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _write_report(path: Path, model: Path, results: Results) -> None:
    from saccade.inspect import Example, Report
    from saccade.provenance import provenance
    from saccade.text import words

    scores, material = results.scores, results.material
    report = Report(f"{model.resolve().name} on {material.name}")
    rows = [
        ("BLEU", scores.bleu, scores.bleu_signature),
        ("chrF", scores.chrf, scores.chrf_signature),
        ("exact match", scores.exact, "percent of the pairs"),
    ]
    report.table("Scores", ["score", "value", "counted how"], rows, note=f"{scores.sentences} pairs")
    report.lines(
        "By source length",
        [row.bucket.label for row in results.lengths],
        {"BLEU": [row.scores.bleu if row.scores else None for row in results.lengths]},
        x="source words",
        y="BLEU",
        counts=[row.sentences for row in results.lengths],
        beyond=[row.beyond for row in results.lengths],
    )
    if results.alignments is not None:
        aligned = [(name, one.aer, one.precision, one.recall) for name, one in results.alignments.items()]
        report.table("Alignment to gold", ["aligner", "AER", "precision", "recall"], aligned)
    order = sorted(range(len(material.sources)), key=lambda place: len(words(material.sources[place])))
    shown = order[:: max(1, len(order) // EXAMPLES)][:EXAMPLES]
    examples = [
        Example(
            source=material.sources[place],
            reference=material.references[place],
            outputs={"translation": results.translations[place].text},
        )
        for place in shown
    ]
    report.examples("Examples, from short to long", examples)
    for attention in [one for place in shown if (one := results.translations[place].attention)][:DRAWN]:
        if 0 < len(attention.source.words) <= WIDEST_DRAWN and attention.target.words:
            heading = "Where it read: " + " ".join(attention.source.words)
            report.heatmap(heading, attention.words(), attention.source.words, attention.target.words)
    report.provenance("Made by", provenance(command=" ".join(["saccade", *sys.argv[1:]])))
    report.save(path)
