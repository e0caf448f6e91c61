"""The options of `saccade shortlist`. They load no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from saccade.ranges import Checked, Count, Range, option

MOST_BEST, MOST_FREQUENT = 1_000, 100_000  # which limit the size of the file
Best = Annotated[int, Range(least=1, most=MOST_BEST)]
Frequent = Annotated[int, Range(least=0, most=MOST_FREQUENT)]


@dataclass(frozen=True, kw_only=True)
class ShortlistOptions(Checked):
    """How `saccade shortlist` learns which tokens translate which."""

    targets: Path | None = option(None, "The targets, if PAIRS has only the sources.", metavar="TARGETS", argument=True)
    best: Best = option(50, "Number of target tokens to keep for each source token.")
    frequent: Frequent = option(1_000, "Number of the most frequent target tokens, which every sentence may use.")
    most: Count = option(100_000, "Number of pairs to learn from; of more pairs, a random sample is used.")
    compare: Path | None = option(
        None, "A file with one source per line, to compare the translations (default: sentences of the model's task)."
    )
