"""Elman (1990): Finding Structure in Time. The hidden layer is copied back as context, so that the next word is
predicted from all words before it.

    (1) h_t = tanh(W E x_t + U h_{t−1} + b)                the context is the last *hidden* layer, not the last output
    (2) p(x_{t+1}) = softmax(V h_t + d)

Elman trained on one step, with the copied context as a given input. Here, as in Mikolov's recurrent language model
(2010), the gradient goes back through time to the beginning of the text, and words have learned vectors E.

Deviations: `cell` replaces (1) by a GRU or an LSTM, and `layers` puts several of them above each other; optional
dropout; `tie = "target"` makes V of the word vectors, with a layer between where the widths differ.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings
from saccade.layers.recurrent import Cell, Stack
from saccade.models.contract import PaperInfo
from saccade.models.language_model import Fixed, LanguageModel
from saccade.ranges import Layers, Width


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 200  # width of the word vectors
    hidden: Width = 200  # width of the states
    layers: Layers = 1  # number of layers
    cell: Cell = "tanh"  # kind of recurrent unit: Elman's (tanh), gru or lstm
    tie: Literal["none", "target"] = "none"  # share the word vectors of input and output ("target")


class Moving(NamedTuple):
    states: tuple[Tensor, ...]  # h of each layer (R, the unit's size)


class Elman1990(LanguageModel[Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64),
        "small": Config(embedding=128, hidden=256, cell="lstm", tie="target"),
        "base": Config(embedding=512, hidden=512, cell="lstm", layers=2, dropout=0.3, tie="target"),
        "paper": Config(),
    }
    paper = PaperInfo("Elman", 1990, "Finding Structure in Time", "its last state")

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(None, target_size, config.embedding, tie=config.tie)
        self.recurrence = Stack(
            config.cell,
            config.embedding,
            config.hidden,
            layers=config.layers,
            first="zero",
            annotation=config.hidden,
            dropout=config.at_layer,
        )
        self.narrow = nn.Linear(config.hidden, config.embedding) if config.hidden != config.embedding else nn.Identity()
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.output_dropout = make_dropout(config.at_output)

    def begin(self, texts: int) -> Moving:
        size = self.recurrence.lowest.size
        state = self.embeddings.target.weight.new_zeros(texts, size)
        return Moving((state,) * len(self.recurrence.units))

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        last = self.embedding_dropout(self.embeddings.of_target(token))
        output, states = self.recurrence.step(self.recurrence.lowest.of_input(last), moving.states)  # equation 1
        return self.embeddings.output(self._read(output)), Moving(states)

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        words = self.embedding_dropout(self.embeddings.of_target(target))
        return self._read(self.recurrence(words, self.begin(target.shape[0]).states))

    def _read(self, outputs: Tensor) -> Tensor:
        """Equation 2, before V"""
        narrowed: Tensor = self.narrow(self.output_dropout(outputs))
        return narrowed
