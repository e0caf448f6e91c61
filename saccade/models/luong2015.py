"""Luong, Pham, Manning (2015): Effective Approaches to Attention-based Neural Machine Translation. The decoder
computes its state first, attends to the source with it, and passes the combination on to its next step.

    (1) h̄_j and the last states: a deep LSTM over the source, backwards
    (2) h_t = LSTM([E y_{t−1}; h̃_{t−1}], h_{t−1}),  h̃_0 = 0    input feeding; as deep as (1), from its last states
    (3) a_t = align(h_t, h̄),  c_t = Σ_j a_tj h̄_j         global, local-m or local-p × dot, general, concat or location
    (4) h̃_t = tanh(W_c [c_t; h_t])
    (5) p(y_t) = softmax(W_s h̃_t)

(3) is chosen by name, such as `attention = "luong2015-local-p-general"`. The order is h_t, a_t, h̃_t; in Bahdanau 2014
the query is s_{t−1}. A source that is read backwards keeps its positions: local-m still reads near word t.
`feeding = false` removes h̃_{t−1} from (2); then a known target is read in one pass.

Options beyond the paper: `bidirectional` (half of `hidden` for each direction), other units (`cell`), other first
states (`first`), tied embeddings, dropout by place. Deviation: read backwards, the source's end symbol comes first.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention import History, Memory
from saccade.attention.table import build
from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.late_gradients import late_gradients
from saccade.layers.recurrent import Cell, First, RecurrentEncoder, Stack
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Width


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 1000  # width of the word vectors
    hidden: Width = 1000  # width of the states, of both directions together
    layers: Layers = 4  # number of layers of the encoder and of the decoder
    reverse: bool = True  # read the source backwards, if it is read in one direction
    bidirectional: bool = False  # read the source in both directions
    attention: str = "luong2015-global-general"  # attention over the source, by name
    feeding: bool = True  # input feeding: the next step reads h̃
    cell: Cell = "lstm"  # kind of recurrent unit
    first: First = "last"  # the decoder's first states: the encoder's last, from the mean of its states, or zero
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bidirectional and self.hidden % 2:
            raise ValueError(f"hidden must be even, since two directions share it; got {self.hidden}")


class Fixed(NamedTuple):
    memory: Memory


class Moving(NamedTuple):
    states: tuple[Tensor, ...]  # of each layer (R, the unit's size)
    fed: Tensor | None  # h̃ (R, hidden)
    history: History | None  # if the attention needs it


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden
        self.stack = Stack(
            config.cell,
            config.embedding,
            width,
            layers=config.layers,
            first=config.first,
            annotation=width,
            dropout=config.at_layer,
        )
        self.of_fed = nn.Linear(width, self.stack.lowest.projected, bias=False) if config.feeding else None
        self.attention = build(config.attention, query_dim=width, memory_dim=width, width=width)
        self.of_read = nn.Linear(self.attention.context_dim + width, width, bias=False)  # W_c

    def start(self, ends: tuple[Tensor, ...], annotations: Tensor, readable: Tensor) -> Moving:
        states = self.stack.start(ends, annotations, readable)
        fed = None if self.of_fed is None else annotations.new_zeros(annotations.shape[0], annotations.shape[-1])
        return Moving(states, fed, None)

    def step(self, projected: Tensor, at: int | Tensor, memory: Memory, moving: Moving) -> tuple[Tensor, Moving]:
        """Equations 2 to 4: projected = W E y_{t−1} → h̃_t, the new Moving"""
        states, fed, history = moving
        if self.of_fed is not None:
            projected = projected + self.of_fed(fed)
        output, states = self.stack.step(projected, states)
        reading = self.attention(output[:, None], memory, at=at, history=history)
        read = self.join(reading.context.squeeze(1), output)
        return read, Moving(states, None if fed is None else read, reading.history)

    def forward(self, last: Tensor, memory: Memory, moving: Moving) -> Tensor:
        """last: E y (B, T, ·) of a known target → h̃ (B, T, hidden)"""
        if self.of_fed is None:  # no step depends on the one before
            outputs = self.stack(last, moving.states)
            return self.join(self.attention(outputs, memory).context, outputs)
        reads = []
        steps = self.stack.lowest.of_input(last).unbind(1)
        with late_gradients(len(steps)):
            for t, projected in enumerate(steps):
                read, moving = self.step(projected, t, memory, moving)
                reads.append(read)
        return torch.stack(reads, 1)

    def join(self, contexts: Tensor, outputs: Tensor) -> Tensor:
        """Equation 4"""
        return torch.tanh(self.of_read(torch.cat([contexts, outputs], -1)))


class Luong2015(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, layers=1),
        "small": Config(embedding=96, hidden=128, layers=1, bidirectional=True),
        "base": Config(embedding=256, hidden=512, layers=2, bidirectional=True, dropout=0.2),
        "paper": Config(attention="luong2015-local-p-general", dropout=0.2),
    }
    paper = PaperInfo(
        "Luong, Pham, Manning",
        2015,
        "Effective Approaches to Attention-based Neural Machine Translation",
        "one attention, whose result is fed to the next step",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.encoder = RecurrentEncoder(
            config.cell,
            config.embedding,
            config.hidden // 2 if config.bidirectional else config.hidden,
            layers=config.layers,
            bidirectional=config.bidirectional,
            backwards=config.reverse,
            dropout=config.at_layer,
        )
        self.decoder = Decoder(config)
        self.narrow = nn.Linear(config.hidden, config.embedding) if config.hidden != config.embedding else nn.Identity()
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.layer_dropout = make_dropout(config.at_layer)
        self.output_dropout = make_dropout(config.at_output)

    @property
    def cross(self) -> list[str]:
        return ["decoder.attention"]

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        embedded = self.embedding_dropout(self.embeddings.of_source(source))
        annotations, ends = self.encoder(embedded, readable)  # equation 1
        memory = self.decoder.attention.remember(self.layer_dropout(annotations), readable)
        return Fixed(memory), self.decoder.start(ends, annotations, readable)

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        memory = fixed.memory.shared(token.shape[0] // fixed.memory.sentences)
        last = self.embedding_dropout(self.embeddings.of_target(token))
        read, moving = self.decoder.step(self.decoder.stack.lowest.of_input(last), t, memory, moving)
        return self.embeddings.output(self._read(read)), moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        (memory,), moving = self.start(source, readable)
        return self._read(self.decoder(self.embedding_dropout(self.embeddings.of_target(target)), memory, moving))

    def _read(self, reads: Tensor) -> Tensor:
        """Equation 5, before W_s"""
        narrowed: Tensor = self.narrow(self.output_dropout(reads))
        return narrowed
