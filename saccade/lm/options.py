"""The options of `saccade lm`. This module loads neither torch nor numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from saccade.decode.options import Search
from saccade.language import Language
from saccade.ranges import BlockLength, Checked, Count, Help, OptionError, Range, VocabularySize, option

Unit = Literal["word", "char", "subword"]
Order = Annotated[int, Range(least=1, most=12)]
NGRAMS = "chen1998"
DRAWING = Search(sample=True, longest=100)

_of_ngrams: Callable[..., Any] = partial(option, group="N-grams")
_of_networks: Callable[..., Any] = partial(option, group="Networks")


@dataclass(frozen=True, kw_only=True)
class LanguageTraining(Checked):
    text: Annotated[
        str, Help("A text, one sentence per line: a file, .gz, .xz, or - for standard input.", argument=True)
    ]
    out: Path | None = option(None, "Folder for the model (default: runs/NAME-lm).")
    model: str = option(NGRAMS, "chen1998 (n-grams), or a network that `saccade models` lists, such as radford2018.")
    unit: Unit | None = option(
        None, "What is predicted: word, char or subword (default: word for n-grams, subword for networks)."
    )
    lower: bool = option(False, "Lower-case the text.")
    order: Order | None = _of_ngrams(
        None, "Words that are counted together: the word and up to ORDER − 1 before it (default: 5)."
    )
    tokenised: bool = _of_ngrams(False, "Words are separated by white space.")
    most_words: Count | None = _of_ngrams(
        None, "Maximum number of different words; the others count as unknown (default: 1,000,000)."
    )
    vocabulary: VocabularySize | None = _of_networks(
        None, "Maximum number of different tokens (default: chosen by the size of the text)."
    )
    block: BlockLength | None = _of_networks(
        None, "Learn blocks of so many tokens that continue across lines; by default, each line is a text."
    )
    valid: str | None = _of_networks(None, "A validation text; by default, some of the text is held out.")
    budget: str | None = _of_networks(
        None, "When to stop: after a time (10m, 2h), a number of updates (5000) or of epochs (20 epochs)."
    )
    settings: tuple[str, ...] = _of_networks(
        (),
        "Change a setting of the recipe, such as train.lr=3e-4. Can be repeated.",
        metavar="KEY=VALUE",
        flags=("--set",),
    )
    resume: bool = _of_networks(False, "Continue the interrupted run in the --out folder.")
    explain: bool = _of_networks(False, "List the fast paths, and why one is not taken.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model == NGRAMS:
            if self.unit == "subword":
                raise OptionError("unit", "must be word or char for n-grams; networks also learn subwords")
            self._refuse("networks", "vocabulary", "block", "valid", "budget", "settings", "resume", "explain")
        else:
            self._refuse("n-grams", "order", "tokenised", "most_words")

    def _refuse(self, others: str, *names: str) -> None:
        for name in names:
            if getattr(self, name) not in (None, False, ()):
                raise OptionError(name, f"is for {others}, not for {self.model}; leave it out")

    @property
    def folder(self) -> Path:
        name = "stdin" if self.text == "-" else Path(self.text).name.split(".")[0]
        return Path("runs") / f"{name}-lm" if self.out is None else self.out


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(Checked):
    count: Count = option(5, "Number of texts.")
    start: str = option("", "How each text begins.")
    best: bool = option(False, "Search for the most probable texts instead of drawing texts at random.")


@dataclass(frozen=True, kw_only=True)
class AttendOptions(Checked):
    layer: Annotated[int | None, Range(least=-1_000, most=1_000)] = option(
        None, "The layer, counted from 0, or from the last by -1 (default: the last)."
    )
    head: Annotated[int | None, Range(least=-1_000, most=1_000)] = option(
        None, "The head, counted from 0 (default: the mean of all heads)."
    )
    plot: Path | None = option(None, "Draw the attention to this .svg, .png or .pdf file.")
    lang: Language | None = option(
        None, "Language of the labels of the figure (default: zh if LANG asks for Chinese, otherwise en)."
    )
