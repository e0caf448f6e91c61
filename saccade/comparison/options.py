"""The options of a comparison, for the command and for Python alike."""

from dataclasses import dataclass
from pathlib import Path

TRAINING, EVALUATION, MEASUREMENT = "Training", "Evaluation", "Measurement"


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    data: str | None = None  # training data of systems given by name: a file of pairs, or task:NAME
    seeds: str | None = None  # how many (4: from 1 to 4), or which (1,5,9)
    seed: tuple[int, ...] = ()  # in place of `seeds`: exactly these
    minutes: float | None = None  # training time of each run
    steps: int | None = None  # updates of each run
    settings: tuple[str, ...] = ()  # KEY=VALUE, for every system that is trained
    unequal: bool = False  # data and budget may differ
    on: str | None = None  # test pairs: a TSV file, a file of sources, or task:NAME
    targets: Path | None = None  # the references, where `on` has the sources
    count: int = 500  # pairs of a task's test split
    words: str | None = None  # lengths of a task's test sources, such as 3-60
    rounds: int = 5  # in which speed and memory are measured; 0 disables this
    resamples: int = 1000  # of each bootstrap and randomisation test
    shown: int = 6  # sentences in the report on which the systems differ
    by: str = "auto"  # the units of the heatmaps
    device: str = "auto"
    batch_tokens: int = 8192

    @property
    def overrides(self) -> list[str]:
        """Changes to every recipe. A budget given here replaces the recipe's."""
        limits = {"max_minutes": self.minutes, "max_steps": self.steps, "max_epochs": None}
        budget = [f"train.{key}={'none' if value is None else value}" for key, value in limits.items()]
        device = [] if self.device == "auto" else [f"train.device={self.device}"]
        return [*(budget if self.minutes is not None or self.steps is not None else ()), *device, *self.settings]
