"""Dropout and its settings."""

from dataclasses import dataclass
from typing import Annotated

from torch import nn

from saccade.ranges import Checked, Help, Share


def make_dropout(share: float) -> nn.Module:
    """Identity where nothing is dropped: torch's dropout would still draw a mask at every call."""
    return nn.Dropout(share) if share else nn.Identity()


@dataclass(frozen=True, kw_only=True)
class DropoutConfig(Checked):
    """One rate for all places, and separate rates for some of them."""

    dropout: Annotated[Share, Help("Dropout rate, unless one of the next three is set.")] = 0.0
    embedding_dropout: Annotated[Share | None, Help("Dropout rate of the word vectors of both sides.")] = None
    layer_dropout: Annotated[Share | None, Help("Dropout rate between layers and before an attention.")] = None
    output_dropout: Annotated[Share | None, Help("Dropout rate of the last hidden layer.")] = None

    @property
    def at_embedding(self) -> float:
        return self.dropout if self.embedding_dropout is None else self.embedding_dropout

    @property
    def at_layer(self) -> float:
        return self.dropout if self.layer_dropout is None else self.layer_dropout

    @property
    def at_output(self) -> float:
        return self.dropout if self.output_dropout is None else self.output_dropout
