"""The options of `saccade labels`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path

from saccade.language import Language
from saccade.ranges import Checked, option


@dataclass(frozen=True, kw_only=True)
class AttendHopsOptions(Checked):
    pieces: bool = option(False, "Show tokens instead of words.")
    plot: Path | None = option(None, "Draw the attention to this .svg, .png or .pdf file.")
    lang: Language | None = option(
        None, "Language of the labels of the figure (default: zh if LANG asks for Chinese, otherwise en)."
    )
