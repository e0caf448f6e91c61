"""The options of `saccade evaluate`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, CountOrZero, Help, Seed

SYSTEMS, COUNTING, SHOWING = "Systems", "Metrics", "Output"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Checked):
    targets: Annotated[
        Path | None, Help("The references, if PAIRS has only the sources.", metavar="TARGETS", argument=True)
    ] = None
    reference: Annotated[tuple[Path, ...], Help("A file of further references, line by line. Can be repeated.")] = ()
    against: Annotated[
        tuple[str, ...], Help("Another SYSTEM to compare with the first. Can be repeated.", group=SYSTEMS)
    ] = ()
    test: Annotated[
        Literal["bootstrap", "randomisation"], Help("Significance test for the differences.", group=SYSTEMS)
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
        CountOrZero, Help("Number of bootstrap resamples for confidence intervals; 0 disables them.", group=COUNTING)
    ] = 1000
    train: Annotated[Path | None, Help("The training targets, to count word frequencies.", group=COUNTING)] = None
    constraints: Annotated[
        Path | None,
        Help('Check these constraints: one JSON object per line, such as {"include": ["cat"]}.', group=COUNTING),
    ] = None
    gold: Annotated[
        Path | None, Help("Gold alignments in Pharaoh (0-0 1?2 …) or NAACL (0001 1 1 S) format.", group=COUNTING)
    ] = None
    gold_base: Annotated[
        int | None,
        Help("Number of the first word in the gold file (default: 0 in Pharaoh, 1 in NAACL).", group=COUNTING),
    ] = None
    tokenised: Annotated[
        bool, Help("The words of the texts and of the gold file are separated by white space.", group=COUNTING)
    ] = False
    layer: Annotated[
        int | None, Help("The decoder layer to align with (default: the model's choice).", group=COUNTING)
    ] = None
    by_length: Annotated[bool, Help("Show scores by source length.", group=SHOWING)] = False
    by_frequency: Annotated[bool, Help("Show scores of rare and common words.", group=SHOWING)] = False
    report: Annotated[Path | None, Help("Write an HTML report to this file.", group=SHOWING)] = None
    by: Annotated[
        Literal["auto", "piece", "word"],
        Help("Draw heatmaps per word or per token (piece). auto uses tokens for character models and single words."),
    ] = "auto"
    count: Annotated[Count, Help("Number of test pairs, if they come from a task.")] = 500
    seed: Annotated[Seed, Help("Seed for the test pairs, if they come from a task.")] = 1
    device: Annotated[str, Help("The device: auto, cpu, cuda or mps.")] = "auto"
    batch_tokens: Annotated[Count, Help("Tokens × hypotheses per batch; a smaller number needs less memory.")] = 8192

    @property
    def metric_names(self) -> list[str]:
        return [name.strip() for name in (self.metrics or "").split(",") if name.strip()]
