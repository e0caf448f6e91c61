"""A classifier and a tagger: word vectors, an encoder and, for one label per text, a reader."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from saccade.labels.encoders import build_encoder
from saccade.labels.readers import build_reader
from saccade.labels.settings import LabelConfig
from saccade.layers.dropout import make_dropout
from saccade.products import accelerate_linear_layers
from saccade.text import PAD
from saccade.train.request import LabelKind


class Labelling(NamedTuple):
    logits: Tensor  # (B, labels) of each text, or (B, S, labels) of each token
    weights: Tensor | None = None  # (B, hops, S)
    penalty: Tensor | None = None  # (B,)


class LabelNetwork(nn.Module, ABC):
    name: ClassVar[str]  # of its folder

    def __init__(self, config: LabelConfig, vocabulary: int, labels: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.embedding, padding_idx=PAD)
        self.dropout = make_dropout(config.dropout)
        self.encoder = build_encoder(config)

    @abstractmethod
    def forward(self, ids: Tensor, readable: Tensor) -> Labelling:
        """ids (B, S), readable (B, S)"""

    def annotations(self, ids: Tensor, readable: Tensor) -> Tensor:
        """(B, S, width)"""
        annotations: Tensor = self.encoder(self.dropout(self.embedding(ids)), readable)
        return annotations


class TextClassifier(LabelNetwork):
    name = "classifier"

    def __init__(self, config: LabelConfig, vocabulary: int, labels: int) -> None:
        super().__init__(config, vocabulary, labels)
        self.reader = build_reader(config)
        self.hidden = None if config.hidden is None else nn.Linear(self.reader.size, config.hidden)
        self.output = nn.Linear(config.hidden or self.reader.size, labels)

    def forward(self, ids: Tensor, readable: Tensor) -> Labelling:
        vector, weights, penalty = self.reader(self.annotations(ids, readable), readable)
        vector = self.dropout(vector)
        if self.hidden is not None:
            vector = self.dropout(F.relu(self.hidden(vector)))
        return Labelling(self.output(vector), weights, penalty)


class WordTagger(LabelNetwork):
    """A word has the tag of its first token, whose annotation has seen the others."""

    name = "tagger"

    def __init__(self, config: LabelConfig, vocabulary: int, labels: int) -> None:
        super().__init__(config, vocabulary, labels)
        self.output = nn.Linear(config.width, labels)

    def forward(self, ids: Tensor, readable: Tensor) -> Labelling:
        return Labelling(self.output(self.dropout(self.annotations(ids, readable))))


NETWORKS: Mapping[LabelKind, type[LabelNetwork]] = {"classify": TextClassifier, "tag": WordTagger}


def build_network(kind: LabelKind, config: LabelConfig, vocabulary: int, labels: int) -> LabelNetwork:
    network = NETWORKS[kind](config, vocabulary, labels)
    accelerate_linear_layers(network)
    return network
