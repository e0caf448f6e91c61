"""Bahdanau, Cho, Bengio (2014; ICLR 2015): Neural Machine Translation by Jointly Learning to Align and Translate.
The decoder searches the source again for each word that it writes.

    (1) h_j = [→h_j; ←h_j]                                 annotations of a bidirectional GRU
    (2) s_0 = tanh(W_s ←h_1)
    (3) e_ij = v·tanh(W s_{i−1} + U h_j),  α_i = softmax(e_i),  c_i = Σ_j α_ij h_j
    (4) s_i = GRU([E y_{i−1}; c_i], s_{i−1})               the context enters the candidate and both gates
    (5) p(y_i) = softmax(W_o maxout(U_o s_{i−1} + V_o E y_{i−1} + C_o c_i))

The paper writes s_i = (1 − z)∘s_{i−1} + z∘s̃; Cho 2014 and `GatedUnit` swap z and 1 − z. Both are the same functions,
with the sign of the gate's parameters changed.

`decoder = "conditional"` is the variant of later toolkits: a first GRU reads y_{i−1}, its state is the query of the
attention, and a second GRU reads the context; the readout then uses the new state s_i.
`attention = "name"` replaces (3) by any other attention. Deviations: optional dropout; the encoder may be deep, or have
one direction; `cell` replaces the GRU by another unit, and `first` chooses another s_0 (of an LSTM: both h and c).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention import History, Memory
from saccade.attention.table import build
from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.late_gradients import late_gradients
from saccade.layers.recurrent import UNITS, Cell, First, FirstState, Maxout, RecurrentEncoder
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Width


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 620  # width of the word vectors
    hidden: Width = 1000  # width of the states; in the encoder, per direction
    align: Width = 1000  # width of the attention's hidden layer
    maxout: Width = 500  # width of the maxout layer below the softmax
    layers: Layers = 1  # number of encoder layers
    bidirectional: bool = True  # read the source in both directions
    attention: str = "bahdanau2014"  # attention over the source, by name
    decoder: Literal["paper", "conditional"] = "paper"  # the paper's decoder, or the variant of later toolkits
    cell: Cell = "gru"  # kind of recurrent unit
    first: First = "last"  # the decoder's first state: from the encoder's last state, from its mean state, or zero
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


class Fixed(NamedTuple):
    memory: Memory


class Moving(NamedTuple):
    state: Tensor  # s (R, the unit's size)
    history: History | None  # if the attention needs it


class Decoder(nn.Module):
    def __init__(self, config: Config, annotation: int) -> None:
        super().__init__()
        self.conditional = config.decoder == "conditional"
        unit = UNITS[config.cell]
        self.first = FirstState(config.first, unit.parts * config.hidden, last=config.hidden, annotation=annotation)
        self.attention = build(config.attention, query_dim=config.hidden, memory_dim=annotation, width=config.align)
        read = self.attention.context_dim
        self.unit = unit(config.embedding, config.hidden)  # of y_{i−1}
        if self.conditional:
            self.second = unit(read, config.hidden)
        else:
            self.of_context = nn.Linear(read, self.unit.projected, bias=False)
        self.of_state = nn.Linear(config.hidden, 2 * config.maxout)
        self.of_last = nn.Linear(config.embedding, 2 * config.maxout, bias=False)
        self.of_read = nn.Linear(read, 2 * config.maxout, bias=False)
        self.maxout = Maxout()
        self.output_dropout = make_dropout(config.at_output)
        self.narrow = nn.Linear(config.maxout, config.embedding) if config.maxout != config.embedding else nn.Identity()

    def step(
        self, projected: Tensor, at: int | Tensor, memory: Memory, moving: Moving
    ) -> tuple[Tensor, Tensor, Moving]:
        """Equations 3 and 4: projected = W E y_{i−1} → h for the readout, c_i, the new Moving"""
        state, history = moving
        if self.conditional:
            state = self.unit.advance(projected, state)
        output = self.unit.output(state)
        reading = self.attention(output[:, None], memory, at=at, history=history)
        context = reading.context.squeeze(1)
        if self.conditional:
            new = self.second.advance(self.second.of_input(context), state)
            return self.second.output(new), context, Moving(new, reading.history)
        new = self.unit.advance(projected + self.of_context(context), state)
        return output, context, Moving(new, reading.history)

    def readout(self, states: Tensor, last: Tensor, contexts: Tensor) -> Tensor:
        """Equation 5, before W_o"""
        pairs = self.of_state(states) + self.of_last(last) + self.of_read(contexts)
        read: Tensor = self.narrow(self.output_dropout(self.maxout(pairs)))
        return read


class Bahdanau2014(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, align=64, maxout=64),
        "small": Config(embedding=96, hidden=128, align=128, maxout=128),
        "base": Config(embedding=256, hidden=512, align=512, maxout=256, dropout=0.2, decoder="conditional"),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Bahdanau, Cho, Bengio",
        2014,
        "Neural Machine Translation by Jointly Learning to Align and Translate",
        "one attention over the annotations",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.encoder = RecurrentEncoder(
            config.cell,
            config.embedding,
            config.hidden,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.at_layer,
        )
        self.decoder = Decoder(config, self.encoder.out)
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.layer_dropout = make_dropout(config.at_layer)

    @property
    def cross(self) -> list[str]:
        return ["decoder.attention"]

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        embedded = self.embedding_dropout(self.embeddings.of_source(source))
        annotations, ends = self.encoder(embedded, readable)  # equation 1
        memory = self.decoder.attention.remember(self.layer_dropout(annotations), readable)
        last = self.decoder.unit.read(ends[-1])[..., -self.config.hidden :]  # with two directions, the backward one's
        return Fixed(memory), Moving(self.decoder.first(last, annotations, readable), None)  # equation 2

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        memory = fixed.memory.shared(token.shape[0] // fixed.memory.sentences)
        last = self.embedding_dropout(self.embeddings.of_target(token))
        state, context, moving = self.decoder.step(self.decoder.unit.of_input(last), t, memory, moving)
        return self.embeddings.output(self.decoder.readout(state, last, context)), moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        (memory,), moving = self.start(source, readable)
        last = self.embedding_dropout(self.embeddings.of_target(target))
        states, contexts = [], []
        steps = self.decoder.unit.of_input(last).unbind(1)
        with late_gradients(len(steps)):
            for i, projected in enumerate(steps):
                state, context, moving = self.decoder.step(projected, i, memory, moving)
                states.append(state)
                contexts.append(context)
        return self.decoder.readout(torch.stack(states, 1), last, torch.stack(contexts, 1))
