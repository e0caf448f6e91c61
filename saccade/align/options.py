"""The options of `saccade align`. This module loads neither torch nor numpy."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeGuard, get_args

from saccade.ranges import Checked, Count, OptionError, Range, Seed, option

WEIGHTS, DIRECTIONS, SCORING = "Which weights align", "Both directions", "Choosing and scoring"
LEARNING = "Learning from the pairs (ibm1, ibm2, hmm)"
LinkFormat = Literal["pharaoh", "gold", "json"]
Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "none"]
StatisticalModel = Literal["ibm1", "ibm2", "hmm"]

_OF_ATTENTION = ("layer", "head", "mean", "best_head", "shift", "valid", "valid_gold", "entropy", "batch_tokens")
_OF_LEARNING = ("learn_from", "learn_from_targets", "iterations")
Iterations = Annotated[int, Range(least=1, most=1_000)]


def is_statistical(model: str) -> TypeGuard[StatisticalModel]:
    """Whether the model learns from the pairs that it aligns, instead of a folder with a trained model."""
    return model in get_args(StatisticalModel)


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
        "How to combine both directions: intersection, union, grow-diag, grow-diag-final, grow-diag-final-and or none, "
        "which gives the links of the direction source → target.",
        DIRECTIONS,
    )
    learn_from: str | None = option(
        None, "More pairs to learn from, which are not aligned: a file, the sources of two, or task:NAME.", LEARNING
    )
    learn_from_targets: Path | None = option(None, "The targets of the pairs to learn from, if in two files.", LEARNING)
    iterations: Iterations = option(
        5, "Iterations of each model: of IBM model 1, then of IBM model 2 or the HMM.", LEARNING
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
        if self.learn_from is None and self.learn_from_targets is not None:
            raise OptionError(
                "learn_from_targets", f"{self.learn_from_targets} has no sources; give them by --learn-from"
            )

    def refuse_choices_of_attention(self, model: StatisticalModel) -> None:
        """Refuse what only a trained model has."""
        if self.by == "piece":
            raise OptionError("by", f"piece needs a trained model; {model} aligns words: leave it out")
        for name in self._changed(_OF_ATTENTION):
            raise OptionError(name, f"needs a trained model; {model} has no attention: leave it out")

    def refuse_choices_of_learning(self) -> None:
        """Refuse what only `ibm1`, `ibm2` and `hmm` have."""
        for name in self._changed(_OF_LEARNING):
            raise OptionError(
                name, "is for ibm1, ibm2 and hmm; a trained model learns nothing from the pairs: leave it out"
            )

    def _changed(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if getattr(self, name) != getattr(type(self), name)]
