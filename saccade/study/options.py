"""The options of `saccade study`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from saccade.language import Language
from saccade.ranges import Checked, Range, option


@dataclass(frozen=True, kw_only=True)
class StudyOptions(Checked):
    quick: bool = option(False, "Train smaller models with a single seed: seconds instead of minutes.")
    seeds: Annotated[int, Range(least=1, most=10)] | None = option(
        None, "Number of seeds (default: 3, or what the study needs; with --quick, 1)."
    )
    jobs: Annotated[int, Range(least=1, most=64)] | None = option(
        None, "Processes that train side by side, each with one thread (default: one per core, up to 8)."
    )
    out: Path = option(Path("runs/study"), "Folder for the results; each study has a folder of its name inside it.")
    lang: Language | None = option(
        None, "Language of the page and its figures (default: zh if LANG asks for Chinese, otherwise en)."
    )
