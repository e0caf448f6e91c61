"""Gehring, Auli, Grangier, Yarats, Dauphin (2017): Convolutional Sequence to Sequence Learning.
No recurrence: each convolution sees a few neighbouring words, a deep stack of them many, and every decoder layer
attends to the source.

    (1) e_j = E x_j + p_j,  g_i = E y_{i−1} + p_i          words and learned positions
    (2) h ← √½ (v(W ∗ h + b) + h)                          an encoder layer; v(a, b) = a∘σ(b), the gated linear unit
    (3) z = W h + b                                        from the last encoder layer, as wide as the embeddings
    (4) s_i = v(W ∗ [h_{i−k+1} … h_i] + b)                 a decoder layer: nothing after i is seen
    (5) d_i = √½ (W_d s_i + b_d + g_i)                     the query knows the last word
    (6) a_i = softmax(d_i·z_j),  c_i = √m Σ_j a_ij √½ (z_j + e_j)    m readable words; each layer reads again
    (7) h_i ← √½ (√½ (W_c c_i + b_c + s_i) + h_i)
    (8) p(y_i) = softmax(W_o (W h_i + b) + b_o)            from the last decoder layer

√m undoes the loss of variance in a mean of m vectors (the paper's m·√(1/m)). Every sum of two vectors is multiplied by
√½: the paper states this for residuals, its released code does it for all. The gradient that reaches the encoder
through z is divided by 2L for L decoder layers; the direct path to the word vectors, e_j in (6), is not. All matrices
except the embeddings are weight-normalised (unless `weight_norm = false`), and initialised as in §3.5 of the paper.
`attention = "name"` replaces the dot product and softmax in (6), in every layer, by any other attention.
Deviations: positions from `longest` on share one vector; all layers have one width, as in the paper's English–Romanian
model (others widen at the top); embeddings may be tied.
"""

from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from saccade.attention import History, Learned, Memory
from saccade.attention.table import build
from saccade.layers.convolution import HALF, GatedConvolution, init_scaled
from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Kernel, Layers, Length, Share, Width
from saccade.text import PAD


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 512  # width of the word vectors
    hidden: Width = 512  # width of the layers
    kernel: Kernel = 3  # words that a convolution reads at once
    encoder_layers: Layers = 20  # number of encoder layers
    decoder_layers: Layers = 20  # number of decoder layers
    longest: Length = 1024  # number of learned positions; later ones share the last
    attention: str = "luong2015-global-dot"  # attention in every decoder layer, by name
    weight_norm: bool = True  # normalise the weights of every matrix but the embeddings
    dropout: Share = 0.2  # dropout rate, unless one of the other three is set
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


class LayerMoving(NamedTuple):
    """The state of one decoder layer, one row per hypothesis."""

    recent: Tensor  # (R, kernel − 1, hidden): the convolution's previous inputs
    history: History | None  # if the attention needs it


Fixed = tuple[Memory, ...]  # of each decoder layer
Moving = tuple[LayerMoving, ...]


class Encoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.widen = _widen(config)
        self.layers = nn.ModuleList(_convolution(config) for _ in range(config.encoder_layers))
        self.narrow = init_scaled(nn.Linear(config.hidden, config.embedding), normalised=config.weight_norm)

    def forward(self, embedded: Tensor, readable: Tensor) -> Tensor:
        """e → z (B, S, embedding), equations 2 and 3"""
        states = self.widen(embedded)
        for layer in self.layers:
            states = HALF * (layer(states, readable) + states)
        narrowed: Tensor = self.narrow(states)
        return narrowed


class DecoderLayer(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.embedding
        self.convolution = _convolution(config, causal=True)
        self.of_state = init_scaled(nn.Linear(config.hidden, width), normalised=config.weight_norm)
        self.attention = build(config.attention, query_dim=width, memory_dim=width, width=width)
        self.of_context = init_scaled(
            nn.Linear(self.attention.context_dim, config.hidden), normalised=config.weight_norm
        )

    def forward(
        self,
        inputs: Tensor,  # h (R, T, hidden)
        last: Tensor,  # g (R, T, embedding)
        memory: Memory,
        at: Tensor | None = None,
        moving: LayerMoving | None = None,
    ) -> tuple[Tensor, LayerMoving | None]:
        """Equations 4 to 7: for a whole target, or, given `moving`, for the next token of each row, at `at`."""
        recent, history = (None, None) if moving is None else moving
        states = self.convolution(inputs, before=recent)
        queries = HALF * (self.of_state(states) + last)
        reading = self.attention(queries, memory, at=at, history=history)
        states = HALF * (self.of_context(reading.context) + states)
        outputs = HALF * (states + inputs)
        if recent is None:
            return outputs, None
        return outputs, LayerMoving(torch.cat([recent, inputs], 1)[:, 1:], reading.history)


class Gehring2017(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, encoder_layers=2, decoder_layers=2, dropout=0.1),
        "small": Config(embedding=128, hidden=128, encoder_layers=4, decoder_layers=3),
        "base": Config(embedding=256, hidden=256, encoder_layers=6, decoder_layers=4),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Gehring, Auli, Grangier, Yarats, Dauphin",
        2017,
        "Convolutional Sequence to Sequence Learning",
        "an attention in every decoder layer",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.source_places, self.target_places = (Learned(config.embedding, config.longest) for _ in range(2))
        self.encoder = Encoder(config)
        self.widen = _widen(config)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.narrow = init_scaled(nn.Linear(config.hidden, config.embedding), normalised=config.weight_norm)
        self.embedding_dropout, self.output_dropout = make_dropout(config.at_embedding), make_dropout(config.at_output)
        tables = (self.embeddings.source, self.embeddings.target, self.source_places.table, self.target_places.table)
        for table in dict.fromkeys(tables):
            nn.init.normal_(table.weight, std=0.1)
        for words in (self.embeddings.source, self.embeddings.target):
            nn.init.zeros_(words.weight[PAD])
        if config.tie == "none":
            init_scaled(self.embeddings.output, dropout=config.at_output, normalised=config.weight_norm)

    @property
    def cross(self) -> list[str]:
        return [f"decoder.{layer}.attention" for layer in range(len(self.decoder))]

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        at = torch.arange(source.shape[1], device=source.device)[None]
        embedded = self.embedding_dropout(self.source_places(self.embeddings.of_source(source), at))
        encoded = _scale_gradient(self.encoder(embedded, readable), 1 / (2 * max(1, len(self.decoder))))
        # A context is linear in its values, so √m may as well be theirs.
        scale = HALF * readable.sum(1).to(encoded.dtype).sqrt()[:, None, None]
        values = scale * (encoded + embedded)
        recent = encoded.new_zeros(source.shape[0], self.config.kernel - 1, self.config.hidden)
        fixed = tuple(layer.attention.remember(encoded, readable, values=values) for layer in self._layers)
        return fixed, tuple(LayerMoving(recent, None) for _ in self._layers)

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        last, states = self._placed(token[:, None], t[:, None])
        moved = []
        for layer, memory, before in zip(self.decoder, fixed, moving, strict=True):
            states, after = layer(states, last, memory.shared(token.shape[0] // memory.sentences), t, before)
            moved.append(after)
        return self.embeddings.output(self._read(states)).squeeze(1), tuple(moved)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        fixed, _ = self.start(source, readable)
        last, states = self._placed(target, torch.arange(target.shape[1], device=target.device)[None])
        for layer, memory in zip(self.decoder, fixed, strict=True):
            states, _ = layer(states, last, memory)
        return self._read(states)

    def _placed(self, tokens: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """g of equation 1, and the first decoder layer's input"""
        last = self.embedding_dropout(self.target_places(self.embeddings.of_target(tokens), at))
        return last, self.widen(last)

    def _read(self, states: Tensor) -> Tensor:
        """Equation 8, before W_o"""
        read: Tensor = self.output_dropout(self.narrow(states))
        return read

    @property
    def _layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.decoder))


def _widen(config: Config) -> nn.Module:
    linear = nn.Linear(config.embedding, config.hidden)
    return init_scaled(linear, dropout=config.at_embedding, normalised=config.weight_norm)


def _convolution(config: Config, *, causal: bool = False) -> GatedConvolution:
    dropout = config.at_layer
    return GatedConvolution(config.hidden, config.kernel, dropout=dropout, normalised=config.weight_norm, causal=causal)


def _scale_gradient(tensor: Tensor, share: float) -> Tensor:
    """The same tensor, with that share of its gradient."""
    constant = tensor.detach()
    return constant + share * (tensor - constant)
