"""Cho, van Merriënboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio (2014): Learning Phrase Representations using RNN
Encoder–Decoder for Statistical Machine Translation. One vector c holds the whole sentence, however long.

    (1) h_j = GRU(E x_j, h_{j−1})                          the encoder; the GRU resets before the matmul
    (2) c = tanh(V h_S)                                    the fixed context
    (3) s_0 = tanh(V' c)
    (4) s_i = GRU([E y_{i−1}; c], s_{i−1})                 c enters every step …
    (5) p(y_i) = softmax(G maxout(O_s s_i + O_y E y_{i−1} + O_c c))    … and the output

Deviations: optional dropout; the encoder may be bidirectional or deep (the paper's is neither); `cell` replaces the GRU
by another unit, and `first` chooses another s_0 (of an LSTM: both h and c).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.recurrent import UNITS, Cell, First, FirstState, Maxout, RecurrentEncoder
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Width


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 100  # width of the word vectors
    hidden: Width = 1000  # width of the states; in the encoder, per direction
    maxout: Width = 500  # width of the maxout layer below the softmax
    layers: Layers = 1  # number of encoder layers
    bidirectional: bool = False  # read the source in both directions
    cell: Cell = "gru"  # kind of recurrent unit
    first: First = "last"  # the decoder's first state: from the context, from the mean of the encoder's states, or zero
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


class Fixed(NamedTuple):
    context: Tensor  # c (B, hidden)


class Moving(NamedTuple):
    state: Tensor  # s (R, the unit's size)


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.recurrence = RecurrentEncoder(
            config.cell,
            config.embedding,
            config.hidden,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.at_layer,
        )
        self.summary = nn.Linear(self.recurrence.out, config.hidden)

    def forward(self, embedded: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
        """h (B, S, ·) and c (B, hidden), equations 1 and 2; with two directions, c joins both ends"""
        states, ends = self.recurrence(embedded, readable)
        return states, torch.tanh(self.summary(self.recurrence.kind.read(ends[-1])))


class Decoder(nn.Module):
    def __init__(self, config: Config, annotation: int) -> None:
        super().__init__()
        unit = UNITS[config.cell]
        self.first = FirstState(config.first, unit.parts * config.hidden, last=config.hidden, annotation=annotation)
        self.unit = unit(config.embedding, config.hidden)
        self.of_context = nn.Linear(config.hidden, self.unit.projected, bias=False)
        self.of_state = nn.Linear(config.hidden, 2 * config.maxout)
        self.of_last = nn.Linear(config.embedding, 2 * config.maxout, bias=False)
        self.of_summary = nn.Linear(config.hidden, 2 * config.maxout, bias=False)
        self.maxout = Maxout()
        self.output_dropout = make_dropout(config.at_output)
        self.narrow = nn.Linear(config.maxout, config.embedding) if config.maxout != config.embedding else nn.Identity()

    def readout(self, states: Tensor, last: Tensor, context: Tensor) -> Tensor:
        """Equation 5, before G; the context is broadcast over steps"""
        pairs = self.of_state(states) + self.of_last(last) + self.of_summary(context)
        read: Tensor = self.narrow(self.output_dropout(self.maxout(pairs)))
        return read


class Cho2014(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, maxout=64),
        "small": Config(embedding=96, hidden=128, maxout=128),
        "base": Config(embedding=256, hidden=512, maxout=256, dropout=0.2),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Cho, van Merriënboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio",
        2014,
        "Learning Phrase Representations using RNN Encoder–Decoder",
        "one fixed vector",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config, self.encoder.recurrence.out)
        self.embedding_dropout = make_dropout(config.at_embedding)

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        states, context = self.encoder(self.embedding_dropout(self.embeddings.of_source(source)), readable)
        return Fixed(context), Moving(self.decoder.first(context, states, readable))  # equation 3

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        context = fixed.context.repeat_interleave(token.shape[0] // fixed.context.shape[0], 0)
        last = self.embedding_dropout(self.embeddings.of_target(token))
        unit = self.decoder.unit
        state = unit(unit.of_input(last) + self.decoder.of_context(context), moving.state)  # equation 4
        return self.embeddings.output(self.decoder.readout(unit.read(state), last, context)), Moving(state)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        fixed, (state,) = self.start(source, readable)
        context = fixed.context[:, None]
        last = self.embedding_dropout(self.embeddings.of_target(target))
        unit = self.decoder.unit
        states, _ = unit.run(unit.of_input(last) + self.decoder.of_context(context), state)
        return self.decoder.readout(states, last, context)
