"""Cho, van Merriënboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio (2014): Learning Phrase Representations using RNN
Encoder–Decoder for Statistical Machine Translation. The whole sentence in one vector c, whatever its length.

    (1) h_j = GRU(E x_j, h_{j−1})                          the encoder; the GRU resets before the matmul
    (2) c = tanh(V h_S)                                    the fixed context
    (3) s_0 = tanh(V' c)
    (4) s_i = GRU([E y_{i−1}; c], s_{i−1})                 c enters every step …
    (5) p(y_i) = softmax(G maxout(O_s s_i + O_y E y_{i−1} + O_c c))    … and the output

Deviations: dropout may be used; the encoder may be bidirectional or deep (the paper's is neither).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.layers.dropout import make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.recurrent import GatedUnit, Maxout, RecurrentEncoder
from saccade.models.contract import About, Seq2Seq


@dataclass(frozen=True, kw_only=True)
class Config:
    embedding: int = 100
    hidden: int = 1000
    maxout: int = 500
    layers: int = 1  # of the encoder
    bidirectional: bool = False
    dropout: float = 0.0
    tie: Tie = "none"


class Fixed(NamedTuple):
    context: Tensor  # c (B, hidden)


class Moving(NamedTuple):
    state: Tensor  # s (R, hidden)


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.recurrence = RecurrentEncoder(
            config.embedding,
            config.hidden,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.dropout,
        )
        self.summary = nn.Linear(self.recurrence.out, config.hidden)

    def forward(self, embedded: Tensor, readable: Tensor) -> Tensor:
        """c (B, hidden), equations 1 and 2"""
        annotations, last = self.recurrence(embedded, readable)
        if self.recurrence.out != last.shape[-1]:  # both ends: forward at the last word, backward at the first
            last = torch.cat([annotations[:, -1, : last.shape[-1]], last], -1)  # padding keeps the state
        return torch.tanh(self.summary(last))


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.first = nn.Linear(config.hidden, config.hidden)
        self.unit = GatedUnit(config.embedding, config.hidden)
        self.of_context = nn.Linear(config.hidden, 3 * config.hidden, bias=False)
        self.of_state = nn.Linear(config.hidden, 2 * config.maxout)
        self.of_last = nn.Linear(config.embedding, 2 * config.maxout, bias=False)
        self.of_summary = nn.Linear(config.hidden, 2 * config.maxout, bias=False)
        self.maxout = Maxout()
        self.dropout = make_dropout(config.dropout)
        self.narrow = nn.Linear(config.maxout, config.embedding) if config.maxout != config.embedding else nn.Identity()

    def start(self, context: Tensor) -> Tensor:
        return torch.tanh(self.first(context))  # equation 3

    def step(self, projected: Tensor, context: Tensor, state: Tensor) -> Tensor:
        """Equation 4: projected is W E y_{i−1} and context C c, each for both gates and candidate."""
        stepped: Tensor = self.unit(projected + context, state)
        return stepped

    def readout(self, states: Tensor, last: Tensor, context: Tensor) -> Tensor:
        """Equation 5, before G: states and last (…, ·), context broadcast over steps"""
        pairs = self.of_state(states) + self.of_last(last) + self.of_summary(context)
        read: Tensor = self.narrow(self.dropout(self.maxout(pairs)))
        return read


class Cho2014(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, maxout=64),
        "small": Config(embedding=96, hidden=128, maxout=128),
        "base": Config(embedding=256, hidden=512, maxout=256, dropout=0.2),
        "paper": Config(),
    }
    about = About(
        "Cho, van Merriënboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio",
        2014,
        "Learning Phrase Representations using RNN Encoder–Decoder",
        "one fixed vector",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.dropout = make_dropout(config.dropout)

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        context = self.encoder(self.dropout(self.embeddings.of_source(source)), readable)
        return Fixed(context), Moving(self.decoder.start(context))

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        context = fixed.context.repeat_interleave(token.shape[0] // fixed.context.shape[0], 0)
        last = self.dropout(self.embeddings.of_target(token))
        projected = self.decoder.unit.of_input(last)
        state = self.decoder.step(projected, self.decoder.of_context(context), moving.state)
        return self.embeddings.output(self.decoder.readout(state, last, context)), Moving(state)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        fixed, (state,) = self.start(source, readable)
        last = self.dropout(self.embeddings.of_target(target))
        of_context = self.decoder.of_context(fixed.context)
        states = []
        for projected in self.decoder.unit.of_input(last).unbind(1):
            state = self.decoder.step(projected, of_context, state)
            states.append(state)
        read = self.decoder.readout(torch.stack(states, 1), last, fixed.context[:, None])
        logits: Tensor = self.embeddings.output(read)
        return logits
