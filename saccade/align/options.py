"""The options of `saccade align`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, Help, OptionError, Seed

WEIGHTS, DIRECTIONS, SCORING = "Which weights align", "Both directions", "Choosing and scoring"
LinkFormat = Literal["pharaoh", "gold", "json"]
Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]


@dataclass(frozen=True, kw_only=True)
class AlignOptions(Checked):
    targets: Annotated[
        Path | None, Help("The targets, if PAIRS has only the sources.", metavar="TARGETS", argument=True)
    ] = None
    format: Annotated[LinkFormat, Help("pharaoh (0-0 1-2), gold (0001 1 1 S) or json (with weights).")] = "pharaoh"
    by: Annotated[
        Literal["auto", "piece", "word"],
        Help("Link words or tokens (piece). auto links tokens for character models and single words."),
    ] = "auto"
    layer: Annotated[
        int | None, Help("Decoder layer, from 0, or -1 for the last (default: the model's choice).", group=WEIGHTS)
    ] = None
    head: Annotated[int | None, Help("Attention head, from 0 (default: the model's choice).", group=WEIGHTS)] = None
    mean: Annotated[bool, Help("Use the mean of all heads of all layers.", group=WEIGHTS)] = False
    best_head: Annotated[bool, Help("Find the layer and the head that align best.", group=WEIGHTS)] = False
    shift: Annotated[
        Literal["0", "1", "auto"] | None,
        Help(
            "Align a token by the step that writes it (0) or by the next step (1); auto chooses. "
            "By default, the model's choice.",
            group=WEIGHTS,
        ),
    ] = None
    symmetrise: Annotated[
        Symmetrisation,
        Help(
            "How to combine both directions: intersection, union, grow-diag, grow-diag-final or grow-diag-final-and.",
            group=DIRECTIONS,
        ),
    ] = "grow-diag-final"
    gold: Annotated[
        Path | None, Help("Gold alignments in Pharaoh (0-0 1?2 …) or NAACL (0001 1 1 S) format.", group=SCORING)
    ] = None
    gold_base: Annotated[
        int | None,
        Help("Number of the first word in gold files (default: 0 in Pharaoh, 1 in NAACL).", group=SCORING),
    ] = None
    tokenised: Annotated[
        bool, Help("The words of the texts and of the gold files are separated by white space.", group=SCORING)
    ] = False
    valid: Annotated[
        str | None, Help("Choose the head on these pairs, a file or task:NAME (default: PAIRS).", group=SCORING)
    ] = None
    valid_gold: Annotated[Path | None, Help("Gold alignments of the --valid pairs.", group=SCORING)] = None
    entropy: Annotated[bool, Help("Show the entropy of each head's attention.", group=SCORING)] = False
    count: Annotated[Count, Help("Number of test pairs, if they come from a task.")] = 500
    seed: Annotated[Seed, Help("Seed for the test pairs, if they come from a task.")] = 1
    batch_tokens: Annotated[Count, Help("Tokens per batch; a smaller number needs less memory.")] = 8192

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum((self.layer is not None or self.head is not None, self.mean, self.best_head)) > 1:
            raise OptionError("mean", "excludes --layer, --head and --best-head; give one of the three")
        if self.valid is None and self.valid_gold is not None:
            raise OptionError("valid_gold", f"{self.valid_gold} has no pairs; give them by --valid")
