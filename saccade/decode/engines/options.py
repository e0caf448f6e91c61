"""The options of the engines that search for translations, and of `saccade export`. They load no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from saccade.ranges import Checked, OptionError, option

EngineName = Literal["auto", "torch", "ctranslate2"]


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Checked):
    """What searches for translations. `auto` is CTranslate2 on a CPU, where it finds the same, and else PyTorch."""

    engine: EngineName = option(
        "auto", "What translates: torch, ctranslate2 (on a CPU), or auto, the faster one.", "Engine"
    )
    int8: bool = option(
        False, "Calculate with 8-bit numbers in CTranslate2: faster, but the text may differ.", "Engine"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.int8 and self.engine == "torch":
            raise OptionError("int8", "is for CTranslate2; give it without --engine torch")


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Checked):
    """How `saccade export` writes a model for another program."""

    to: Literal["ctranslate2"] = option("ctranslate2", "The program that is to run the model: ctranslate2.")
    out: Path | None = option(None, "The folder to write (default: the folder ctranslate2 inside MODEL).")
    int8: bool = option(False, "Store 8-bit weights: a quarter of the size, and faster, but the text may differ.")
    compare: Path | None = option(
        None, "A file with one source per line, to compare the translations (default: sentences of the model's task)."
    )
