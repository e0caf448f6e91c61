"""The options of `saccade align`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.ranges import Checked, Count, OptionError, Seed, option

WEIGHTS, DIRECTIONS, SCORING = "Which weights align", "Both directions", "Choosing and scoring"
LinkFormat = Literal["pharaoh", "gold", "json"]
Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


@dataclass(frozen=True, kw_only=True)
class AlignOptions(Checked):
    targets: Path | None = option(None, "The targets, if PAIRS has only the sources.", metavar="TARGETS", argument=True)
    format: LinkFormat = option("pharaoh", "pharaoh (0-0 1-2), gold (0001 1 1 S) or json (with weights).")
    by: Literal["auto", "piece", "word"] = option(
        "auto", "Link words or tokens (piece). auto links tokens for character models and single words."
    )
    layer: int | None = option(
        None, "Decoder layer, from 0, or -1 for the last (default: the model's choice).", WEIGHTS
    )
    head: int | None = option(None, "Attention head, from 0 (default: the model's choice).", WEIGHTS)
    mean: bool = option(False, "Use the mean of all heads of all layers.", WEIGHTS)
    best_head: bool = option(False, "Find the layer and the head that align best.", WEIGHTS)
    shift: Literal["0", "1", "auto"] | None = option(
        None,
        "Align a token by the step that writes it (0) or by the next step (1); auto chooses. "
        "By default, the model's choice.",
        WEIGHTS,
    )
    symmetrise: Symmetrisation = option(
        "grow-diag-final",
        "How to combine both directions: intersection, union, grow-diag, grow-diag-final or grow-diag-final-and.",
        DIRECTIONS,
    )
    gold: Path | None = option(None, "Gold alignments in Pharaoh (0-0 1?2 …) or NAACL (0001 1 1 S) format.", SCORING)
    gold_base: int | None = option(
        None, "Number of the first word in gold files (default: 0 in Pharaoh, 1 in NAACL).", SCORING
    )
    tokenised: bool = option(
        False, "The words of the texts and of the gold files are separated by white space.", SCORING
    )
    valid: str | None = option(None, "Choose the head on these pairs, a file or task:NAME (default: PAIRS).", SCORING)
    valid_gold: Path | None = option(None, "Gold alignments of the --valid pairs.", SCORING)
    entropy: bool = option(False, "Show the entropy of each head's attention.", SCORING)
    count: Count = option(500, "Number of test pairs, if they come from a task.")
    seed: Seed = option(1, "Seed for the test pairs, if they come from a task.")
    batch_tokens: Count = option(8192, "Tokens per batch; a smaller number needs less memory.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum((self.layer is not None or self.head is not None, self.mean, self.best_head)) > 1:
            raise OptionError("mean", "excludes --layer, --head and --best-head; give one of the three")
        if self.valid is None and self.valid_gold is not None:
            raise OptionError("valid_gold", f"{self.valid_gold} has no pairs; give them by --valid")
