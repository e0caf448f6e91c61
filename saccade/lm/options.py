"""The options of `saccade lm`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, Help, Range, Seed, Temperature, option

Unit = Literal["word", "char"]
Order = Annotated[int, Range(least=1, most=12)]


@dataclass(frozen=True, kw_only=True)
class NgramTraining(Checked):
    text: Annotated[
        str, Help("A text, one sentence per line: a file, .gz, .xz, or - for standard input.", argument=True)
    ]
    out: Path | None = option(None, "Folder for the model (default: runs/NAME-lm).")
    order: Order = option(5, "Words that are counted together: the word and up to ORDER − 1 before it.")
    unit: Unit = option("word", "What is predicted: words or characters (char).")
    lower: bool = option(False, "Lower-case the text.")
    tokenised: bool = option(False, "Words are separated by white space.")
    most_words: Count = option(1_000_000, "Maximum number of different words; the others count as unknown.")

    @property
    def folder(self) -> Path:
        name = "stdin" if self.text == "-" else Path(self.text).name.split(".")[0]
        return Path("runs") / f"{name}-lm" if self.out is None else self.out


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(Checked):
    count: Count = option(5, "Number of texts.")
    start: str = option("", "How each text begins.")
    temperature: Temperature = option(1.0, "Below 1, probable words become more probable.")
    longest: Count = option(100, "Maximum number of words, or characters, in a text.")
    seed: Seed = option(1, "Seed for the random choices.")
