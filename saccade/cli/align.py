"""`saccade align`: the words or pieces of given pairs, linked by a model's attention."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from saccade.cli.console import print_table, say
from saccade.cli.material import Count, Gold, GoldBase, Pairs, Seed, Source, Tokenised, pairs_of
from saccade.cli.translate import BatchTokens, ByOption, Device, Model, bar, interruptible, written
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.align import (
        AlignedPair,
        Aligner,
        AlignmentHead,
        AlignmentScores,
        GoldLinks,
        HeadChoice,
        Links,
        Symmetrisation,
    )

FORMATS = ("pharaoh", "gold", "json")
WHICH, BOTH, JUDGED = "Which weights align", "Both directions", "Choosing and judging"

Targets = Annotated[Path | None, typer.Argument(help="The targets, where PAIRS are the sources.")]
Out = Annotated[Path | None, typer.Option(help="Write here, once all is done; else to standard output.")]
Format = Annotated[str, typer.Option(help="pharaoh (0-0 1-2), gold (0001 1 1 S) or json (with weights).")]
Layer = Annotated[
    int | None, typer.Option(help="From 0, or -1 the last; the last but one unless said.", rich_help_panel=WHICH)
]
Head = Annotated[int | None, typer.Option(help="From 0; the mean unless said.", rich_help_panel=WHICH)]
Mean = Annotated[bool, typer.Option("--mean", help="The mean of all heads of all layers.", rich_help_panel=WHICH)]
BestHead = Annotated[bool, typer.Option("--best-head", help="Choose layer and head.", rich_help_panel=WHICH)]
Shift = Annotated[
    str | None,
    typer.Option(
        help="A word is aligned by the step that writes it (0) or the next (1); auto: choose; else as the model says.",
        rich_help_panel=WHICH,
    ),
]
With = Annotated[Path | None, typer.Option("--with", help="A model of the other direction.", rich_help_panel=BOTH)]
Symmetrise = Annotated[
    str,
    typer.Option(help="intersection, union, grow-diag, grow-diag-final or grow-diag-final-and.", rich_help_panel=BOTH),
]
Valid = Annotated[
    str | None, typer.Option(help="Choose on these pairs, a file or a task; else on PAIRS.", rich_help_panel=JUDGED)
]
ValidGold = Annotated[Path | None, typer.Option(help="The gold of --valid, like --gold.", rich_help_panel=JUDGED)]
Entropy = Annotated[bool, typer.Option("--entropy", help="Show how widely each head reads.", rich_help_panel=JUDGED)]
Summary = Annotated[Path | None, typer.Option(help="Write the scores and all here, as JSON.", rich_help_panel=JUDGED)]


def align(
    model: Model,
    pairs: Pairs,
    targets: Targets = None,
    out: Out = None,
    format: Format = "pharaoh",
    by: ByOption = "auto",
    layer: Layer = None,
    head: Head = None,
    mean: Mean = False,
    best_head: BestHead = False,
    shift: Shift = None,
    reverse: With = None,
    symmetrise: Symmetrise = "grow-diag-final",
    gold: Gold = None,
    gold_base: GoldBase = None,
    tokenised: Tokenised = False,
    valid: Valid = None,
    valid_gold: ValidGold = None,
    entropy: Entropy = False,
    summary: Summary = None,
    count: Count = 500,
    seed: Seed = 1,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
) -> None:
    """Align the words of pairs: the model is made to write the targets, and what it reads of the sources links them.

    Example: [bold]saccade align en-fr pairs.tsv --with fr-en --out pairs.links[/]
    """
    if format not in FORMATS:
        raise UserError(f"--format {format}: expected {', '.join(FORMATS)}")
    if out is not None and out.is_dir():
        raise UserError(f"--out {out}: a folder; expected the name of a file")
    if valid is None and valid_gold is not None:
        raise UserError(f"--valid-gold {valid_gold}: there are no --valid pairs that it is the gold of")
    reader = _reader(layer, head, mean, best_head, shift)

    from saccade.align.aligner import Aligner
    from saccade.decode import load
    from saccade.text.words import parse_unit

    aligner = Aligner(
        load(model, device=device),
        reader,
        reverse=None if reverse is None else load(reverse, device=device),
        reverse_head=reader,
        symmetrisation=cast("Symmetrisation", symmetrise),
        tokenised=tokenised,
        by=parse_unit(by) if gold is None or by != "auto" else "word",
        batch_tokens=batch_tokens,
    )
    with interruptible(), TemporaryDirectory() as kept:
        source = pairs_of(pairs, targets, count=count, seed=seed, gold=gold, kept=Path(kept))
        aligner = aligner.with_unit(aligner.unit(source.pairs))
        if aligner.by == "piece" and by == "auto":
            say("links are between pieces; --by word links words")
        truth, total = _gold(source, gold, gold_base, aligner)
        choice, on, known = None, source, truth
        if best_head or shift == "auto":
            if valid is not None:
                on = pairs_of(valid, None, count=count, seed=seed + 1, gold=valid_gold)  # of a task, other pairs
                known, _ = _gold(on, valid_gold, gold_base, aligner)
            aligner, choice = aligner.with_best_head(on.pairs, known, every_head=best_head, every_shift=shift == "auto")
        told = _Told(aligner, truth, entropies=entropy or summary is not None)
        with written(out) as write, bar("aligning", total, hidden=out is None) as advance:
            for number, one in enumerate(aligner.align(source.pairs), 1):
                for line in _lines(one, number, format):
                    write(line)
                told.add(one)
                advance(1)
    told.show(choice, optimistic=on is source and truth is not None, entropy=entropy)
    if summary is not None:
        told.save(summary, choice, model=str(model), reverse=reverse and str(reverse), pairs=source.name)


def _reader(layer: int | None, head: int | None, mean: bool, best_head: bool, shift: str | None) -> "AlignmentHead":
    if sum((layer is not None or head is not None, mean, best_head)) > 1:
        raise UserError(
            "--layer and --head, --mean and --best-head each say which weights align; give one of the three"
        )
    if shift not in (None, "0", "1", "auto"):
        raise UserError(f"--shift {shift}: expected 0, 1 or auto")
    from saccade.align.attention import AlignmentHead

    return AlignmentHead(layer="all" if mean else layer, head=head, shift=int(shift) if shift in ("0", "1") else None)


def _gold(
    source: Source, gold: Path | None, base: int | None, aligner: "Aligner"
) -> "tuple[Sequence[GoldLinks] | None, int]":
    """And how many pairs there are: what is wrong with the last line is said before hours of work, not after."""
    from saccade.align import read_gold

    if gold is None:
        return source.gold if aligner.by == "word" else None, sum(1 for _ in source.pairs)
    lengths = [aligner.lengths(pair) for pair in source.pairs]
    return read_gold(gold, lengths=lengths, base=base), len(lengths)


def _lines(one: "AlignedPair", number: int, form: str) -> list[str]:
    from saccade.align import format_gold, format_links

    if form == "pharaoh":
        return [format_links(one.links)]
    if form == "gold":
        return format_gold(one.links, number)
    found = {
        "line": number,
        "unit": one.unit,
        f"source_{one.unit}s": list(one.source),
        f"target_{one.unit}s": list(one.target),
        "alignment": [list(link) for link in sorted(one.links, key=lambda link: (link[1], link[0]))],
        "weights": one.weights.round(4).tolist(),
    }
    return [json.dumps(found, ensure_ascii=False)]


class _Told:
    """What there is to say of all pairs, gathered as they pass."""

    def __init__(self, aligner: "Aligner", gold: "Sequence[GoldLinks] | None", *, entropies: bool) -> None:
        from saccade.align.aligner import HeadEntropies

        self.aligner, self.gold = aligner, gold
        self.entropies, self._entropies_wanted = HeadEntropies(), entropies
        self.reader = aligner.head
        self.found: list[Links] = []
        self.sizes: list[tuple[int, int]] = []

    def add(self, one: "AlignedPair") -> None:
        if one.attention is not None:
            if self._entropies_wanted:
                self.entropies.add(one.attention)
            self.reader = self.reader.resolve(one.attention)
        if self.gold is not None:
            self.found.append(one.links)
            self.sizes.append((len(one.source), len(one.target)))

    def scores(self) -> "dict[str, AlignmentScores]":
        """Beside two aligners that read nothing."""
        from saccade.align import diagonal_links, score_alignments, score_uniform

        if self.gold is None:
            return {}
        return {
            "attention": score_alignments(self.found, self.gold),
            "diagonal": score_alignments([diagonal_links(*size) for size in self.sizes], self.gold),
            "uniform": score_uniform(self.gold, self.sizes),
        }

    def show(self, choice: "HeadChoice | None", *, optimistic: bool, entropy: bool) -> None:
        """On standard error: standard output may hold the links."""
        if choice is not None:
            say(str(choice))
            if choice.by == "gold" and optimistic:
                say("it was chosen by the gold that it is scored on: give --valid for a fair score")
        if scores := self.scores():
            rows = [[name, *(f"{x:.3f}" for x in (one.aer, one.precision, one.recall))] for name, one in scores.items()]
            print_table(["alignment to gold", "AER", "precision", "recall"], rows, err=True)
        if entropy:
            layers = self.entropies.mean()
            rows = [[str(number), *(f"{bits:.2f}" for bits in heads)] for number, heads in enumerate(layers)]
            heads = max(map(len, layers), default=0)
            print_table(["entropy, bits: layer", *(f"head {head}" for head in range(heads))], _filled(rows), err=True)

    def save(self, path: Path, choice: "HeadChoice | None", **about: Any) -> None:
        from dataclasses import asdict

        from saccade.files import write_json

        found = {
            **about,
            "symmetrised": self.aligner.symmetrisation if self.aligner.reverse is not None else None,
            "unit": self.aligner.by,
            "reader": asdict(self.reader),
            "choice": choice and choice.to_dict(),
            "scores": {name: one.to_dict() for name, one in self.scores().items()},
            "entropy_bits": self.entropies.mean(),
        }
        write_json(path, found)


def _filled(rows: list[list[str]]) -> list[list[str]]:
    """Layers may differ in their number of heads."""
    widest = max(map(len, rows), default=0)
    return [row + [""] * (widest - len(row)) for row in rows]
