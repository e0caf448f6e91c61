"""What a reader makes of the annotations of a text, so that a classifier can decide."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor, nn


class SentenceReading(NamedTuple):
    vector: Tensor  # (B, size)
    weights: Tensor | None = None  # (B, hops, S), of a reader with attention
    penalty: Tensor | None = None  # (B,), to be added to the loss


class SentenceReader(nn.Module, ABC):
    size: int  # of the vector

    @abstractmethod
    def forward(self, annotations: Tensor, readable: Tensor) -> SentenceReading:
        """annotations (B, S, width), readable (B, S)"""
