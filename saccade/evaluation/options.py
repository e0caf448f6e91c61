"""The options of `saccade evaluate`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, CountOrZero, Help, Seed

SYSTEMS, COUNTING, SHOWING = "Systems", "What is counted", "What is shown"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Checked):
    targets: Annotated[
        Path | None, Help("The references, if PAIRS has only the sources.", metavar="TARGETS", argument=True)
    ] = None
    reference: Annotated[tuple[Path, ...], Help("Further references, one line per pair. Can be repeated.")] = ()
    against: Annotated[
        tuple[str, ...], Help("Another SYSTEM to compare with the first. Can be repeated.", group=SYSTEMS)
    ] = ()
    test: Annotated[
        Literal["bootstrap", "randomisation"], Help("Significance test of the differences.", group=SYSTEMS)
    ] = "bootstrap"
    metrics: Annotated[
        str | None,
        Help(
            "Comma-separated list of bleu, chrf, ter, wer, per, cer, exact, word_error, phone_error, rouge1, rouge2, "
            "rougeL (default: chosen by the data).",
            group=COUNTING,
        ),
    ] = None
    resamples: Annotated[
        CountOrZero, Help("Bootstrap resamples for the intervals; 0 disables them.", group=COUNTING)
    ] = 1000
    train: Annotated[
        Path | None, Help("The targets of training, in which word frequencies are counted.", group=COUNTING)
    ] = None
    constraints: Annotated[
        Path | None,
        Help('One JSON object per line: {"include": ["…"], "exclude": ["…"]}.', group=COUNTING),
    ] = None
    gold: Annotated[
        Path | None, Help("Gold alignments in Pharaoh (0-0 1?2 …) or NAACL (0001 1 1 S) format.", group=COUNTING)
    ] = None
    gold_base: Annotated[
        int | None,
        Help("The number of the first word in the gold file (default: 0 in Pharaoh, 1 in NAACL).", group=COUNTING),
    ] = None
    tokenised: Annotated[
        bool, Help("Words are separated by white space, in the gold file as well.", group=COUNTING)
    ] = False
    layer: Annotated[
        int | None, Help("The decoder layer that aligns (default: the model's choice).", group=COUNTING)
    ] = None
    by_length: Annotated[bool, Help("Show scores by source length.", group=SHOWING)] = False
    by_frequency: Annotated[bool, Help("Show scores of rare and common words.", group=SHOWING)] = False
    report: Annotated[Path | None, Help("Write an HTML report to this file.", group=SHOWING)] = None
    by: Annotated[
        Literal["auto", "piece", "word"],
        Help("Draw heatmaps by word or by piece. auto chooses pieces for character models and single words."),
    ] = "auto"
    count: Annotated[Count, Help("Number of pairs of a task's test split.")] = 500
    seed: Annotated[Seed, Help("Seed of a task's pairs.")] = 1
    device: Annotated[str, Help("The device: auto, cpu, cuda or mps.")] = "auto"
    batch_tokens: Annotated[Count, Help("Tokens × hypotheses per batch; a smaller number needs less memory.")] = 8192
