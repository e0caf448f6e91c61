from typing import NamedTuple, Protocol

from torch import nn


def make_dropout(share: float) -> nn.Module:
    """Dropout; of nothing, nothing at all: torch's would still draw a mask at every call."""
    return nn.Dropout(share) if share else nn.Identity()


class Dropping(Protocol):
    """A model's settings: one share for all places, and what a place has instead (None: the same)."""

    @property
    def dropout(self) -> float: ...
    @property
    def embedding_dropout(self) -> float | None: ...
    @property
    def layer_dropout(self) -> float | None: ...
    @property
    def output_dropout(self) -> float | None: ...


class Places(NamedTuple):
    """The share that is dropped, in training, of a recurrent model's …"""

    embedding: float  # word vectors, of both sides
    layer: float  # outputs of a layer that another reads, or an attention
    output: float  # last hidden layer, which the softmax reads

    @classmethod
    def of(cls, config: Dropping) -> "Places":
        places = (config.embedding_dropout, config.layer_dropout, config.output_dropout)
        return cls(*(config.dropout if place is None else place for place in places))
