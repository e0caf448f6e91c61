"""The encoders that read a text, by name: word vectors (B, S, embedding) and readable (B, S) → annotations
(B, S, width).

Another encoder is an nn.Module with such a `forward`, and one line in `ENCODERS`.
"""

from collections.abc import Callable, Mapping
from typing import cast

import torch
from torch import Tensor, nn

from saccade.attention.positions import Learned, Sinusoidal
from saccade.labels.settings import LabelConfig
from saccade.layers.dropout import make_dropout
from saccade.layers.lstmn import MemoryNetwork
from saccade.layers.recurrent import RecurrentEncoder
from saccade.layers.transformer_block import Sum, norm
from saccade.models import gehring2017, vaswani2017
from saccade.names import Registry, resolve


class UnreadWords(nn.Module):
    """The word vectors as they are: each annotation knows one word, and a mean of them is a bag of words."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        self.widen = nn.Linear(config.embedding, config.width)

    def forward(self, inputs: Tensor, readable: Tensor) -> Tensor:
        widened: Tensor = self.widen(inputs)
        return widened


class RecurrentReading(nn.Module):
    """A recurrence in both directions, whose annotations share the width, or in one."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        self.recurrence = RecurrentEncoder(
            config.cell,
            config.embedding,
            config.width // 2 if config.bidirectional else config.width,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )

    def forward(self, inputs: Tensor, readable: Tensor) -> Tensor:
        annotations, _ = self.recurrence(inputs, readable)
        return cast(Tensor, annotations)


class MemoryReading(nn.Module):
    """The memory network of `cheng2016`: each state attends to all states before it."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        inputs = [config.embedding] + [config.width] * (config.layers - 1)
        self.layers = nn.ModuleList(MemoryNetwork(size, config.width) for size in inputs)
        self.dropout = make_dropout(config.dropout)

    def forward(self, inputs: Tensor, readable: Tensor) -> Tensor:
        for number, layer in enumerate(self.layers):
            inputs = layer(self.dropout(inputs) if number else inputs, readable)
        return inputs


class TransformerReading(nn.Module):
    """The encoder layers of `vaswani2017`, with any named self-attention and sinusoidal positions."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        of_layers = vaswani2017.Config(
            width=config.width,
            inner=4 * config.width,
            heads=config.heads,
            dropout=config.dropout,
            encoder_attention=config.attention,
        )
        self.widen = nn.Linear(config.embedding, config.width)
        self.positions = Sinusoidal(config.width)
        self.dropout = make_dropout(config.dropout)
        self.layers = nn.ModuleList(vaswani2017.EncoderLayer(of_layers) for _ in range(config.layers))
        self.norm = norm("layer", config.width)
        for linear in (module for module in self.layers.modules() if isinstance(module, nn.Linear)):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, inputs: Tensor, readable: Tensor) -> Tensor:
        at = torch.arange(inputs.shape[1], device=inputs.device)[None]
        states = Sum(self.dropout(self.positions(self.widen(inputs), at)))
        for layer in self.layers:
            states = layer(states, readable)
        return states.normed_by(self.norm)[1]


class ConvolutionalReading(nn.Module):
    """The gated convolutions of `gehring2017`, with learned positions."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        of_layers = gehring2017.Config(
            embedding=config.width,
            hidden=config.width,
            kernel=config.kernel,
            encoder_layers=config.layers,
            dropout=config.dropout,
        )
        self.widen = nn.Linear(config.embedding, config.width)
        self.positions = Learned(config.width, of_layers.longest)
        self.dropout = make_dropout(config.dropout)
        self.encoder = gehring2017.Encoder(of_layers)

    def forward(self, inputs: Tensor, readable: Tensor) -> Tensor:
        at = torch.arange(inputs.shape[1], device=inputs.device)[None]
        annotations: Tensor = self.encoder(self.dropout(self.positions(self.widen(inputs), at)), readable)
        return annotations


ENCODERS: Mapping[str, Callable[[LabelConfig], nn.Module]] = Registry[Callable[[LabelConfig], nn.Module]]("encoder") | {
    "recurrent": RecurrentReading,
    "cheng2016": MemoryReading,
    "transformer": TransformerReading,
    "convolution": ConvolutionalReading,
    "words": UnreadWords,
}


def build_encoder(config: LabelConfig) -> nn.Module:
    build: Callable[[LabelConfig], nn.Module] = resolve(config.encoder, ENCODERS, "encoder")
    return build(config)
