"""The options of `saccade words`. This module loads neither torch nor numpy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.language import Language
from saccade.ranges import Checked, Count, CountOrZero, Help, NotNegative, Positive, Range, Seed, Width, option

MODEL, TEXT, RUN = "Model", "Text", "Training"
Method = Literal["skip-gram", "cbow"]
Projection = Literal["pca", "tsne"]
Window = Annotated[int, Range(least=1, most=100)]
Negatives = Annotated[int, Range(least=1, most=1_000)]
Epochs = Annotated[int, Range(least=1, most=100_000)]
BatchWords = Annotated[int, Range(least=64, most=10**8)]


@dataclass(frozen=True, kw_only=True)
class WordTraining(Checked):
    text: Annotated[
        str, Help("A text, one sentence per line: a file, .gz, .xz, or - for standard input.", argument=True)
    ]
    out: Path | None = option(None, "Folder for the vectors (default: runs/NAME-words).")
    method: Method = option("skip-gram", "skip-gram: a word predicts its neighbours; cbow: they predict it.", MODEL)
    size: Width = option(100, "Size of a vector.", MODEL)
    window: Window = option(5, "Largest distance of a neighbour; each word draws its own up to this.", MODEL)
    negatives: Negatives = option(5, "Random words for each neighbour.", MODEL)
    min_count: Count = option(5, "Leave out words that occur less often.", TEXT)
    most_words: Count = option(200_000, "Maximum number of different words; the most frequent are kept.", TEXT)
    subsample: NotNegative = option(1e-3, "Skip some of the words more frequent than this share; 0 keeps all.", TEXT)
    cased: bool = option(False, "Keep upper case.", TEXT)
    tokenised: bool = option(False, "Words are separated by white space.", TEXT)
    epochs: Epochs = option(5, "Number of times that the text is read.", RUN)
    lr: Positive = option(0.01, "Highest learning rate.", RUN)
    batch: BatchWords | None = option(None, "Words per update (default: chosen by the text).", RUN)
    threads: Count | None = option(None, "CPU threads (default: one or all, whichever is faster).", RUN)
    device: str = option("auto", "The device: auto, cpu, cuda or mps.", RUN)
    seed: Seed = option(1, "Seed for all random numbers of the run.", RUN)
    resume: bool = option(False, "Continue the interrupted run in the --out folder.", RUN)

    @property
    def folder(self) -> Path:
        name = "stdin" if self.text == "-" else Path(self.text).name.split(".")[0]
        return Path("runs") / f"{name}-words" if self.out is None else self.out


@dataclass(frozen=True, kw_only=True)
class MapOptions(Checked):
    words: tuple[str, ...] = option((), "A word to show. Can be repeated; by default, the most frequent words.")
    top: Count = option(200, "Number of the most frequent words to show.")
    skip: CountOrZero = option(50, "Number of even more frequent words, such as the, to leave out.")
    neighbours: CountOrZero = option(0, "Also show so many of the nearest words of each --words.")
    projection: Projection = option("pca", "pca, or tsne (needs scikit-learn).")
    seed: Seed = option(1, "Seed for t-SNE.")
    lang: Language | None = option(
        None, "Language of the title of the map (default: zh if LANG asks for Chinese, otherwise en)."
    )
