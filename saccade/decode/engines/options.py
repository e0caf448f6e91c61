"""The options of `saccade export`. They load no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.ranges import Checked, option


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Checked):
    """How `saccade export` writes a model for another program."""

    to: Literal["ctranslate2"] = option("ctranslate2", "The program that is to run the model: ctranslate2.")
    out: Path | None = option(None, "The folder to write (default: the folder ctranslate2 inside MODEL).")
    int8: bool = option(False, "Store 8-bit weights: a quarter of the size, and faster, but the text may differ.")
    compare: Path | None = option(
        None, "A file with one source per line, to compare the translations (default: sentences of the model's task)."
    )
