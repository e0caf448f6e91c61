"""The tour: `saccade try` trains a model without and one with attention on built-in data, and shows the difference."""

from dataclasses import dataclass
from typing import Annotated, Literal

from saccade.language import Language
from saccade.ranges import Checked, Count, Help, Seed, option


@dataclass(frozen=True, kw_only=True)
class TourOptions(Checked):
    to: Literal["fr", "de", "zh"] = option("fr", "Language of the translations of the English sentences.")
    everyday: bool = option(
        False, "Also learn everyday sentences such as 'I love you.'; --to de and --to zh always do."
    )
    lang: Language | None = option(None, "Language of the report (default: zh if LANG asks for Chinese, otherwise en).")
    updates: Annotated[
        Count, Help("Training updates of the model with attention; the other model gets twice as many.")
    ] = 1600  # about three minutes, at 9 updates per second
    seed: Annotated[Seed, Help("Random seed for the weights and the batches.")] = 1
    pairs: Count = 60_000  # for training
    judged: Count = 60  # test sentences in each range of lengths
    aligned: Count = 200  # pairs whose gold alignment is compared
    ambiguous: Count = 160  # sentences with an ambiguous word, and as many without its cue

    @property
    def learns_everyday(self) -> bool:
        """By default not in French, whose recorded results are without everyday sentences."""
        return self.everyday or self.to != "fr"
