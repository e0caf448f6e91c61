"""The options of `saccade evaluate`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.decode.options import SearchTokens
from saccade.language import Language
from saccade.ranges import Checked, Count, CountOrZero, Seed, option

SYSTEMS, COUNTING, SHOWING = "Systems", "Metrics", "Output"


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Checked):
    targets: Path | None = option(
        None, "The references, if PAIRS has only the sources.", metavar="TARGETS", argument=True
    )
    reference: tuple[Path, ...] = option((), "A file of further references, line by line. Can be repeated.")
    against: tuple[str, ...] = option((), "Another SYSTEM to compare with the first. Can be repeated.", SYSTEMS)
    test: Literal["bootstrap", "randomisation"] = option("bootstrap", "Significance test for the differences.", SYSTEMS)
    metrics: str | None = option(
        None,
        "Comma-separated list of bleu, chrf, ter, wer, per, cer, exact, word_error, phone_error, rouge1, rouge2, "
        "rougeL (default: chosen by the data).",
        COUNTING,
    )
    resamples: CountOrZero = option(
        1000, "Number of bootstrap resamples for confidence intervals; 0 disables them.", COUNTING
    )
    train: Path | None = option(None, "The training targets, to count word frequencies.", COUNTING)
    constraints: Path | None = option(
        None, 'Check these constraints: one JSON object per line, such as {"include": ["cat"]}.', COUNTING
    )
    gold: Path | None = option(None, "Gold alignments in Pharaoh (0-0 1?2 …) or NAACL (0001 1 1 S) format.", COUNTING)
    gold_base: int | None = option(
        None, "Number of the first word in the gold file (default: 0 in Pharaoh, 1 in NAACL).", COUNTING
    )
    tokenised: bool = option(
        False, "The words of the texts and of the gold file are separated by white space.", COUNTING
    )
    layer: int | None = option(None, "The decoder layer to align with (default: the model's choice).", COUNTING)
    by_length: bool = option(False, "Show scores by source length.", SHOWING)
    by_frequency: bool = option(False, "Show scores of rare and common words.", SHOWING)
    report: Path | None = option(None, "Write an HTML report to this file.", SHOWING)
    lang: Language | None = option(
        None, "Language of the report (default: zh if LANG asks for Chinese, otherwise en).", SHOWING
    )
    by: Literal["auto", "piece", "word"] = option(
        "auto", "Draw heatmaps per word or per token (piece). auto uses tokens for character models and single words."
    )
    count: Count = option(500, "Number of test pairs, if they come from a task.")
    seed: Seed = option(1, "Seed for the test pairs, if they come from a task.")
    device: str = option("auto", "The device: auto, cpu, cuda or mps.")
    batch_tokens: SearchTokens = None

    @property
    def metric_names(self) -> list[str]:
        return [name.strip() for name in (self.metrics or "").split(",") if name.strip()]
