"""The tour: `saccade try` trains a model without and one with attention on built-in data, and shows the difference."""

from dataclasses import dataclass
from typing import Annotated

from saccade.ranges import Checked, Count, Help, Seed


@dataclass(frozen=True, kw_only=True)
class TourOptions(Checked):
    updates: Annotated[
        Count, Help("Training updates of the model with attention; the other model gets twice as many.")
    ] = 1600  # about three minutes, at 9 updates per second
    seed: Annotated[Seed, Help("Random seed for the weights and the batches.")] = 1
    pairs: Count = 60_000  # for training
    judged: Count = 60  # test sentences in each range of lengths
    aligned: Count = 200  # pairs whose gold alignment is compared
    ambiguous: Count = 160  # sentences with an ambiguous word, and as many without its cue
