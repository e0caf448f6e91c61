"""`saccade evaluate`: how good translations are, of a model or of a file, and whether others' are better."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, cast

import typer

from saccade.cli.console import put, say
from saccade.cli.evaluated import Results, print_results, write_report
from saccade.cli.material import Count, Gold, GoldBase, Material, Seed, Source, Tokenised, material_of, pairs_of
from saccade.cli.searching import Beam, LengthPenalty, searching
from saccade.cli.systems import Judging, System, judged
from saccade.cli.translate import BatchTokens, ByOption, Device, interruptible
from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.align import GoldLinks
    from saccade.evaluate import Difference
    from saccade.evaluate.significance import Test

SYSTEMS, COUNTED, SHOWN = "Systems", "What is counted", "What is shown"

Given = Annotated[
    str,
    typer.Argument(
        help="A model's folder, or a file of outputs, a line a pair; or runs of it with other seeds: a,b,c.",
        metavar="SYSTEM",
        show_default=False,
    ),
]
Pairs = Annotated[
    str | None,
    typer.Argument(help="A TSV file, the sources of two files, or task:NAME; not needed with --reference."),
]
Targets = Annotated[Path | None, typer.Argument(help="The references, where PAIRS are the sources.")]
Reference = Annotated[list[Path] | None, typer.Option(help="More references, a line a pair; may be repeated.")]
Against = Annotated[
    list[str] | None,
    typer.Option(help="Another SYSTEM, compared with the first; may be repeated.", rich_help_panel=SYSTEMS),
]
TestOption = Annotated[
    str, typer.Option(help="bootstrap or randomisation, of the difference.", rich_help_panel=SYSTEMS)
]
Metrics = Annotated[
    str, typer.Option(help="Of bleu,chrf,ter,wer,per,cer,exact,rouge1,rouge2,rougeL.", rich_help_panel=COUNTED)
]
Resamples = Annotated[int, typer.Option(help="For the intervals; 0 for none.", min=0, rich_help_panel=COUNTED)]
Train = Annotated[
    Path | None,
    typer.Option(help="Training's targets: frequencies of words are counted there.", rich_help_panel=COUNTED),
]
ConstraintFile = Annotated[
    Path | None,
    typer.Option(help='A JSON object a line: {"include": ["…"], "exclude": ["…"]}.', rich_help_panel=COUNTED),
]
LayerOption = Annotated[int | None, typer.Option(help="The decoder layer that aligns: the last but one unless said.")]
ByLength = Annotated[bool, typer.Option("--by-length", help="Show scores by source length.", rich_help_panel=SHOWN)]
ByFrequency = Annotated[
    bool, typer.Option("--by-frequency", help="Show how well rare and common words fare.", rich_help_panel=SHOWN)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.", rich_help_panel=SHOWN)]
ReportFile = Annotated[Path | None, typer.Option(help="Write an HTML report here.", rich_help_panel=SHOWN)]


def evaluate(
    system: Given,
    pairs: Pairs = None,
    targets: Targets = None,
    reference: Reference = None,
    against: Against = None,
    test: TestOption = "bootstrap",
    metrics: Metrics = "bleu,chrf,ter,wer,per,cer,exact",
    resamples: Resamples = 1000,
    train: Train = None,
    constraints: ConstraintFile = None,
    gold: Gold = None,
    gold_base: GoldBase = None,
    tokenised: Tokenised = False,
    layer: LayerOption = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = 1.0,
    count: Count = 500,
    seed: Seed = 1,
    by_length: ByLength = False,
    by_frequency: ByFrequency = False,
    as_json: Json = False,
    report: ReportFile = None,
    by: ByOption = "auto",
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
) -> None:
    """Score translations: BLEU, chrF, error rates and more, with intervals; of several systems, with significance.

    Example: [bold]saccade evaluate my-model test.tsv --against other-model --by-length --report report.html[/]
    """
    if report is not None and not report.parent.is_dir():
        raise UserError(f"--report {report}: there is no folder {report.parent}")
    from saccade.text.words import parse_unit

    unit = parse_unit(by)
    with interruptible(), TemporaryDirectory() as kept:
        source = None
        if pairs is not None:
            source = pairs_of(pairs, targets, count=count, seed=seed, gold=gold, kept=Path(kept))
        material = material_of(source, reference or [])
        how = Judging(
            metrics=_metrics(metrics),
            resamples=resamples,
            train=train,
            constraints=constraints,
            gold=_gold(source, material, gold, gold_base, tokenised=tokenised),
            tokenised=tokenised,
            layer=layer,
            search=searching(beam, length_penalty),
            device=device,
            batch_tokens=batch_tokens,
            drawn=report is not None,
        )
        systems = judged([system, *(against or ())], material, how)
        differences = [_differences(systems[0], other, material, how, cast("Test", test)) for other in systems[1:]]
    results = Results(material=material, systems=systems, differences=differences, gold=how.gold, tokenised=tokenised)
    if material.left_out:
        say(f"left out: {material.left_out} pairs with a blank side")
    if as_json:
        put(json.dumps(results.to_dict(), ensure_ascii=False, indent=2))
    else:
        print_results(results, by_length=by_length, by_frequency=by_frequency)
    if report is not None:
        write_report(report, results, unit)
        say(f"report: {report}")


def _metrics(given: str) -> list[str]:
    from saccade.metrics import make_metrics

    names = [name.strip() for name in given.split(",") if name.strip()]
    make_metrics(names, ["a"])  # a mistake, or an extra that is not there, is said before hours of work
    return names


def _gold(
    source: Source | None, material: Material, path: Path | None, base: int | None, *, tokenised: bool
) -> "list[GoldLinks] | None":
    from saccade.align import read_gold
    from saccade.text import words

    if path is None:
        return material.of_all(source.gold) if source is not None and source.gold is not None else None
    if source is None:
        raise UserError(f"--gold {path}: links join sources to targets; give PAIRS")
    cut = str.split if tokenised else words
    lengths = [(len(cut(pair.source)), len(cut(pair.target))) for pair in source.pairs]
    return material.of_all(read_gold(path, lengths=lengths, base=base))


def _differences(
    first: System, other: System, material: Material, how: Judging, test: "Test"
) -> "tuple[Difference, ...]":
    """Between single runs by sacrebleu; between several, over seeds."""
    from saccade.evaluate import significance, significance_over_seeds

    one, two = [run.output.texts for run in first.runs], [run.output.texts for run in other.runs]
    if len(one) == len(two) == 1:
        return significance(one[0], two[0], material.references, metrics=how.metrics, test=test)
    return significance_over_seeds(one, two, material.references, metrics=how.metrics, test=test)
