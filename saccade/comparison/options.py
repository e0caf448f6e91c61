"""The options of a comparison, for the command and for Python alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.decode.options import SearchTokens
from saccade.language import Language
from saccade.ranges import Checked, Count, CountOrZero, NotNegative, Range, option

TRAINING, EVALUATION, MEASUREMENT = "Training", "Evaluation", "Measurement"


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Checked):
    data: str | None = option(None, "Training data for systems given by name: a file of pairs, or task:NAME.", TRAINING)
    seeds: int | str = option(3, "The number of seeds (4 means 1 to 4), or the seeds themselves (1,5,9).", TRAINING)
    seed: tuple[int, ...] = option((), "A seed, instead of --seeds. Can be repeated.", TRAINING)
    minutes: NotNegative | None = option(None, "Training time of each run, in minutes.", TRAINING)
    steps: Count | None = option(None, "Number of training updates of each run.", TRAINING)
    settings: tuple[str, ...] = option(
        (),
        "Change a setting of every system that is trained. Can be repeated.",
        TRAINING,
        flags=("--set",),
        metavar="KEY=VALUE",
    )
    unequal: bool = option(False, "Allow unequal data or budgets; the report mentions them.", TRAINING)
    on: str | None = option(
        None,
        "Test pairs: a TSV file, a file of sources, or task:NAME (default: the test split of the training task).",
        EVALUATION,
    )
    targets: Path | None = option(None, "The references, if --on has only sources.", EVALUATION)
    count: Count = option(500, "Number of test pairs, if they come from a task.", EVALUATION)
    words: str | tuple[int, int] | None = option(
        None, "Source lengths of a task's test pairs, such as 3-60 (default: as in training).", EVALUATION
    )
    rounds: CountOrZero = option(5, "Number of speed and memory measurements; 0 disables them.", MEASUREMENT)
    resamples: Annotated[int, Range(least=10, most=10**6)] = option(
        1000, "Resamples for confidence intervals and p-values.", MEASUREMENT
    )
    shown: Annotated[int, Range(least=0, most=50)] = option(
        6, "Sentences to show, where the systems differ most.", MEASUREMENT
    )
    by: Literal["auto", "piece", "word"] = option(
        "auto", "Draw heatmaps per word or token (piece); auto decides.", MEASUREMENT
    )
    lang: Language | None = option(None, "Language of the report (default: zh if LANG asks for Chinese, otherwise en).")
    device: str = option("auto", "The device: auto, cpu, cuda or mps.")
    batch_tokens: SearchTokens = None

    @property
    def overrides(self) -> list[str]:
        """Changes to every recipe. A budget given here replaces the recipe's."""
        limits = {"max_minutes": self.minutes, "max_steps": self.steps, "max_epochs": None}
        budget = [f"train.{key}={'none' if value is None else value}" for key, value in limits.items()]
        device = [] if self.device == "auto" else [f"train.device={self.device}"]
        return [*(budget if self.minutes is not None or self.steps is not None else ()), *device, *self.settings]
