"""The recipe of a classifier or a tagger: the tables [data], [model] and [train]."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from saccade import config
from saccade.data.sources import Fields
from saccade.layers.recurrent import Cell
from saccade.names import task_name
from saccade.ranges import (
    BetweenZeroAndOne,
    Checked,
    Count,
    Heads,
    Help,
    Kernel,
    Layers,
    Length,
    NotNegative,
    OptionError,
    Range,
    Share,
    Width,
)
from saccade.text import Policy
from saccade.train.request import LabelKind
from saccade.train.training_options import Training

_Hops = Annotated[int, Range(least=1, most=1_000)]


@dataclass(frozen=True, kw_only=True)
class LabelData(Checked):
    kind: Annotated[LabelKind, Help("classify: one label per text; tag: one per word.")]
    pairs: Annotated[str, Help("A file of labelled texts, the texts of two files, task:NAME or hf:NAME.")]
    targets: Annotated[str | None, Help("The labels of two files.")] = None
    fields: Annotated[Fields | None, Help("Names of the fields of the text and the label, or column numbers.")] = None
    valid: Annotated[str | None, Help("Labelled texts for validation; by default, some are held out.")] = None
    valid_share: Annotated[BetweenZeroAndOne, Help("Share of the texts to hold out for validation.")] = 0.1
    valid_most: Annotated[Count, Help("Maximum number of texts to hold out.")] = 2000
    count: Annotated[Count, Help("Number of texts to draw from a task.")] = 4000
    longest: Annotated[Length, Help("Tokens of a text that are read; the rest of a longer one is cut off.")] = 512
    vocabulary: Policy = field(default_factory=Policy)

    @property
    def task(self) -> str | None:
        return task_name(self.pairs)


@dataclass(frozen=True, kw_only=True)
class LabelConfig(Checked):
    encoder: Annotated[str, Help("What reads the text: recurrent, cheng2016, transformer, convolution or words.")] = (
        "recurrent"
    )
    reader: Annotated[
        str | None, Help("What a classifier reads of the annotations: lin2017, an attention, mean or last.")
    ] = "lin2017"
    embedding: Annotated[Width, Help("Width of the word vectors.")] = 300
    width: Annotated[Width, Help("Width of the annotations, of both directions together.")] = 600
    layers: Annotated[Layers, Help("Number of layers of the encoder.")] = 1
    cell: Annotated[Cell, Help("Unit of a recurrent encoder.")] = "lstm"
    bidirectional: Annotated[bool, Help("Let a recurrent encoder read in both directions.")] = True
    heads: Annotated[Heads, Help("Number of heads of a Transformer's attention.")] = 4
    attention: Annotated[str, Help("Self-attention of a Transformer, by name.")] = "vaswani2017"
    kernel: Annotated[Kernel, Help("Places that a convolution reads at once.")] = 3
    hops: Annotated[_Hops, Help("Number of hops of lin2017.")] = 30
    hop_width: Annotated[Width, Help("Width of the keys of lin2017.")] = 350
    penalty: Annotated[NotNegative, Help("Weight of the penalty on hops of lin2017 that overlap.")] = 1.0
    hidden: Annotated[Width | None, Help("Width of the classifier's hidden layer; none: it has none.")] = 3000
    dropout: Annotated[Share, Help("Dropout rate of word vectors, between layers and of what is classified.")] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder == "recurrent" and self.bidirectional and self.width % 2:
            raise OptionError("width", f"must be even for two directions of equal width, got {self.width}")
        if self.encoder == "transformer" and self.width % self.heads:
            raise OptionError("width", f"must be a multiple of the {self.heads} heads, got {self.width}")


# The paper's penalty of 1 costs accuracy where few hops have few words to share; docs/labelling.md has the numbers.
_PENALTY = 0.02
PRESETS: Mapping[str, LabelConfig] = {
    "tiny": LabelConfig(embedding=32, width=64, hops=4, hop_width=32, penalty=_PENALTY, hidden=None, dropout=0.1),
    "small": LabelConfig(embedding=64, width=128, hops=4, hop_width=64, penalty=_PENALTY, hidden=64, dropout=0.3),
    "base": LabelConfig(embedding=128, width=256, hops=8, hop_width=128, penalty=_PENALTY, hidden=256),
    "paper": LabelConfig(),
}


@dataclass(frozen=True, kw_only=True)
class LabelRecipe:
    data: LabelData
    model: LabelConfig = field(default_factory=LabelConfig)
    train: Training = field(default_factory=Training)

    def to_dict(self) -> dict[str, Any]:
        return config.to_dict(self)
