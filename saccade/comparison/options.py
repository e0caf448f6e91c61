"""The options of a comparison, for the command and for Python alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, CountOrZero, Help, NotNegative, Range

TRAINING, EVALUATION, MEASUREMENT = "Training", "Evaluation", "Measurement"


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Checked):
    data: Annotated[
        str | None, Help("Training data for systems given by name: a file of pairs, or task:NAME.", group=TRAINING)
    ] = None
    seeds: Annotated[
        int | str, Help("The number of seeds (4 means 1 to 4), or the seeds themselves (1,5,9).", group=TRAINING)
    ] = 3
    seed: Annotated[tuple[int, ...], Help("A seed, instead of --seeds. Can be repeated.", group=TRAINING)] = ()
    minutes: Annotated[NotNegative | None, Help("Training time of each run, in minutes.", group=TRAINING)] = None
    steps: Annotated[Count | None, Help("Number of training updates of each run.", group=TRAINING)] = None
    settings: Annotated[
        tuple[str, ...],
        Help(
            "Change a setting of every system that is trained. Can be repeated.",
            group=TRAINING,
            flags=("--set",),
            metavar="KEY=VALUE",
        ),
    ] = ()
    unequal: Annotated[bool, Help("Allow unequal data or budgets; the report mentions them.", group=TRAINING)] = False
    on: Annotated[
        str | None,
        Help(
            "Test pairs: a TSV file, a file of sources, or task:NAME (default: the test split of the training task).",
            group=EVALUATION,
        ),
    ] = None
    targets: Annotated[Path | None, Help("The references, if --on has only sources.", group=EVALUATION)] = None
    count: Annotated[Count, Help("Number of test pairs, if they come from a task.", group=EVALUATION)] = 500
    words: Annotated[
        str | tuple[int, int] | None,
        Help("Source lengths of a task's test pairs, such as 3-60 (default: as in training).", group=EVALUATION),
    ] = None
    rounds: Annotated[
        CountOrZero, Help("Number of speed and memory measurements; 0 disables them.", group=MEASUREMENT)
    ] = 5
    resamples: Annotated[
        int, Range(least=10, most=10**6), Help("Resamples for confidence intervals and p-values.", group=MEASUREMENT)
    ] = 1000
    shown: Annotated[
        int, Range(least=0, most=50), Help("Sentences to show, where the systems differ most.", group=MEASUREMENT)
    ] = 6
    by: Annotated[
        Literal["auto", "piece", "word"],
        Help("Draw heatmaps per word or token (piece); auto decides.", group=MEASUREMENT),
    ] = "auto"
    device: Annotated[str, Help("The device: auto, cpu, cuda or mps.")] = "auto"
    batch_tokens: Annotated[Count, Help("Tokens × hypotheses per batch; a smaller number needs less memory.")] = 8192

    @property
    def overrides(self) -> list[str]:
        """Changes to every recipe. A budget given here replaces the recipe's."""
        limits = {"max_minutes": self.minutes, "max_steps": self.steps, "max_epochs": None}
        budget = [f"train.{key}={'none' if value is None else value}" for key, value in limits.items()]
        device = [] if self.device == "auto" else [f"train.device={self.device}"]
        return [*(budget if self.minutes is not None or self.steps is not None else ()), *device, *self.settings]
