"""Cheng, Dong, Lapata (2016): Long Short-Term Memory-Networks for Machine Reading. An LSTM keeps all of its states on
two tapes, of hidden vectors and of memory cells, and reads them with an attention before each step, so that it relates
each word to those before it instead of compressing them into one state.

    (1) a_i = v·tanh(W_h h_i + W_x x_t + W_h̃ h̃_{t−1}),  s = softmax(a)       for i < t
    (2) h̃_t = Σ_i s_i h_i,  c̃_t = Σ_i s_i c_i
    (3) f, i, o = σ(W [h̃_t; x_t]),  ĉ = tanh(W [h̃_t; x_t])
    (4) c_t = f∘c̃_t + i∘ĉ,  h_t = o∘tanh(c_t)
    (5) p(x_{t+1}) = softmax(V h_t + d)

`attention = "name"` replaces (1) by any other attention that reads values as they are. As an encoder, the same layers
(`saccade/layers/lstmn.py`) read a text for a classifier or a tagger.

Deviations: with `layers`, each layer reads the layer below (the paper also has gated skip connections); optional
dropout; `tie = "target"` makes V of the word vectors, with a layer between where the widths differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings
from saccade.layers.lstmn import MemoryNetwork, Tapes
from saccade.models.contract import PaperInfo
from saccade.models.language_model import Fixed, LanguageModel
from saccade.ranges import Layers, Width


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 150  # width of the word vectors
    hidden: Width = 300  # width of the states
    align: Width = 300  # width of the attention's hidden layer
    layers: Layers = 1  # number of layers
    attention: str = "bahdanau2014"  # attention over the states before, by name
    tie: Literal["none", "target"] = "none"  # share the word vectors of input and output ("target")


class Moving(NamedTuple):
    tapes: tuple[Tapes, ...]  # of each layer


class Cheng2016(LanguageModel[Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, align=64),
        "small": Config(embedding=128, hidden=256, align=128, tie="target"),
        "base": Config(embedding=300, hidden=300, layers=3, dropout=0.3, tie="target"),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Cheng, Dong, Lapata",
        2016,
        "Long Short-Term Memory-Networks for Machine Reading",
        "one attention over its previous states",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(None, target_size, config.embedding, tie=config.tie)
        self.layers = nn.ModuleList(
            MemoryNetwork(
                config.hidden if layer else config.embedding,
                config.hidden,
                attention=config.attention,
                align=config.align,
            )
            for layer in range(config.layers)
        )
        self.narrow = nn.Linear(config.hidden, config.embedding) if config.hidden != config.embedding else nn.Identity()
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.layer_dropout = make_dropout(config.at_layer)
        self.output_dropout = make_dropout(config.at_output)

    @property
    def own(self) -> list[str]:
        return [f"layers.{layer}.attention" for layer in range(len(self.layers))]

    def begin(self, texts: int) -> Moving:
        like = self.embeddings.target.weight.new_empty(texts, 0)
        return Moving(tuple(layer.begin(like) for layer in self._layers))

    def why_state_grows(self) -> str | None:
        return "the tapes have one state more after each step"

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        hidden, moved = self.embedding_dropout(self.embeddings.of_target(token)), []
        for number, (layer, tapes) in enumerate(zip(self._layers, moving.tapes, strict=True)):
            below = self.layer_dropout(hidden) if number else hidden
            hidden, after = layer.step(below, t, tapes)  # equations 1 to 4
            moved.append(after)
        return self.embeddings.output(self._read(hidden)), Moving(tuple(moved))

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        hidden = self.embedding_dropout(self.embeddings.of_target(target))
        for number, layer in enumerate(self._layers):
            hidden = layer(self.layer_dropout(hidden) if number else hidden)
        return self._read(hidden)

    def _read(self, hidden: Tensor) -> Tensor:
        """Equation 5, before V"""
        narrowed: Tensor = self.narrow(self.output_dropout(hidden))
        return narrowed

    @property
    def _layers(self) -> Sequence[MemoryNetwork]:
        return cast(Sequence[MemoryNetwork], self.layers)
