"""Sutskever, Vinyals, Le (2014): Sequence to Sequence Learning with Neural Networks. A deep LSTM reads the source,
from its last word to its first, and another continues from its states.

    (1) h_j^l, c_j^l = LSTM(h_j^{l−1}, h_{j+1}^l, c_{j+1}^l),  h_j^0 = E x_j    layer by layer, backwards
    (2) s_0^l = [h_1^l; c_1^l]                             all that the decoder knows about the source
    (3) s_i^l = LSTM(s_i^{l−1}, s_{i−1}^l),  s_i^0 = E y_{i−1}
    (4) p(y_i) = softmax(W s_i^L)

Read backwards, the first words of source and target are close to each other, which makes learning easier; `reverse =
false` reads forwards. Deviations: the source's end symbol is read first (in the paper it is read last and begins the
target); the LSTM has no peepholes; `cell` replaces it by another unit, and `first` chooses another s_0; optional
dropout.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.recurrent import Cell, RecurrentEncoder, Stack
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Width


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 1000  # width of the word vectors
    hidden: Width = 1000  # width of the states
    layers: Layers = 4  # number of layers of the encoder and of the decoder
    reverse: bool = True  # read the source backwards
    cell: Cell = "lstm"  # kind of recurrent unit
    first: Literal["last", "mean"] = "last"  # the decoder's first states: the encoder's last, or from its mean state
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


Fixed = tuple[()]  # the decoder knows the source only through its first states


class Moving(NamedTuple):
    states: tuple[Tensor, ...]  # s of each layer (R, the unit's size)


class Sutskever2014(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, layers=2),
        "small": Config(embedding=96, hidden=128, layers=2),
        "base": Config(embedding=256, hidden=512, layers=2, dropout=0.2),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Sutskever, Vinyals, Le",
        2014,
        "Sequence to Sequence Learning with Neural Networks",
        "the encoder's last states, which start the decoder",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.encoder = RecurrentEncoder(
            config.cell,
            config.embedding,
            config.hidden,
            layers=config.layers,
            bidirectional=False,
            backwards=config.reverse,
            dropout=config.at_layer,
        )
        self.decoder = Stack(
            config.cell,
            config.embedding,
            config.hidden,
            layers=config.layers,
            first=config.first,
            annotation=config.hidden,
            dropout=config.at_layer,
        )
        self.narrow = nn.Linear(config.hidden, config.embedding) if config.hidden != config.embedding else nn.Identity()
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.output_dropout = make_dropout(config.at_output)

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        embedded = self.embedding_dropout(self.embeddings.of_source(source))
        annotations, ends = self.encoder(embedded, readable)  # equation 1
        return (), Moving(self.decoder.start(ends, annotations, readable))  # equation 2

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        last = self.embedding_dropout(self.embeddings.of_target(token))
        output, states = self.decoder.step(self.decoder.lowest.of_input(last), moving.states)  # equation 3
        return self.embeddings.output(self._read(output)), Moving(states)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        _, (states,) = self.start(source, readable)
        return self._read(self.decoder(self.embedding_dropout(self.embeddings.of_target(target)), states))

    def _read(self, outputs: Tensor) -> Tensor:
        """Equation 4, before W"""
        narrowed: Tensor = self.narrow(self.output_dropout(outputs))
        return narrowed
