"""Radford, Narasimhan, Salimans, Sutskever (2018): Improving Language Understanding by Generative Pre-Training (GPT).
The decoder of a Transformer without a source: each token reads itself and all tokens before it.

    (1) x = E + P                                          token vectors and learned positions
    (2) layer:  x ← x + CausalSelfAttention(norm x);  x ← x + FFN(norm x),  FFN(x) = W₂ gelu(W₁ x)
    (3) p(w_{t+1}) = softmax(E norm x_t)                   embeddings tied

The paper normalises after each sum, as the Transformer did (`norm = "post"`). The default is its successor's order,
which trains without a long warm-up (Radford 2019): before each function and once at the end. Matrices start from
N(0, 0.02²); those that add to the residual sum from 1/√(2 · layers) of it, also as in the successor.

Options beyond the paper: any named attention, RMSNorm, a ReLU or gated feed-forward network, other positions,
stochastic depth. Positions beyond the learned ones share the last vector, so longer texts need rotary or sinusoidal
positions, or more learned ones (`longest`).
"""

from dataclasses import dataclass
from typing import Literal, cast

from torch import Tensor, nn

from saccade.layers.causal_attention import Past, attend_past, empty_past, shared_pasts, why_no_shared_cache
from saccade.layers.dropout import make_dropout
from saccade.layers.embedding import Embeddings
from saccade.layers.transformer_block import (
    FeedForward,
    NormKind,
    NormPlace,
    PositionKind,
    Site,
    Sublayer,
    Sum,
    make_positions,
    norm,
    placed,
)
from saccade.models.contract import PaperInfo
from saccade.models.language_model import Fixed, LanguageModel
from saccade.ranges import Checked, Heads, Layers, Length, Share, Width

Moving = tuple[Past, ...]  # of each layer


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    width: Width = 768  # width of the model
    inner: Width = 3072  # width of the feed-forward network
    heads: Heads = 12  # number of attention heads
    layers: Layers = 12  # number of layers
    norm: NormPlace = "pre"  # normalise before each function, or after each sum
    norm_kind: NormKind = "layer"  # LayerNorm, RMSNorm or none
    positions: PositionKind = "learned"  # encoding of positions
    longest: Length = 512  # number of learned positions
    feed_forward: Literal["relu", "gelu", "gated"] = "gelu"  # kind of feed-forward network
    attention: str = "vaswani2017"  # the self-attention, by name
    dropout: Share = 0.1  # dropout rate
    attention_dropout: Share = 0.0  # dropout rate of the attention weights
    stochastic_depth: Share = 0.0  # probability that a function of a layer is left out of an update
    tie: Literal["none", "target"] = "target"  # share the token vectors of input and output ("target")


class DecoderLayer(nn.Module):
    """Equation 2"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Site(
            config.attention,
            config.width,
            heads=config.heads,
            dropout=config.attention_dropout,
            causal=True,
            rotary=config.positions == "rotary",
        )
        self.feed_forward = FeedForward(
            config.width, config.inner, kind=config.feed_forward, dropout=config.dropout, causal=True
        )
        self.around = nn.ModuleList(
            Sublayer(
                config.width,
                place=config.norm,
                kind=config.norm_kind,
                residual=True,
                dropout=config.dropout,
                stochastic_depth=config.stochastic_depth,
            )
            for _ in range(2)
        )

    def forward(self, inputs: Sum, at: Tensor | None = None, past: Past | None = None) -> tuple[Sum, Past | None]:
        """For a whole text, or, given a `past`, for the next token of each row at positions `at`."""
        after: Past | None = None

        def attend(x: Tensor) -> Tensor:
            nonlocal after
            context, after = attend_past(self.attention, x, at, past)
            return context

        outputs = self.around[1](self.around[0](inputs, attend), self.feed_forward.without_bias)
        return outputs, after


class Radford2018(LanguageModel[Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(width=128, inner=512, heads=4, layers=2),
        "small": Config(width=256, inner=1024, heads=4, layers=4, dropout=0.2),
        "base": Config(width=384, inner=1536, heads=6, layers=6, dropout=0.2),
        "paper": Config(norm="post"),
    }
    paper = PaperInfo(
        "Radford, Narasimhan, Salimans, Sutskever",
        2018,
        "Improving Language Understanding by Generative Pre-Training",
        "a causal self-attention in every layer",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(None, target_size, config.width, tie=config.tie, std=0.02)
        self.positions = make_positions(config.positions, config.width, config.longest)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        last: NormKind = config.norm_kind if config.norm == "pre" else "none"  # post-norm ends on a norm already
        self.norm = norm(last, config.width, is_projected=True)
        self.dropout = make_dropout(config.dropout)
        self._draw_weights()

    @property
    def own(self) -> list[str]:
        return [f"layers.{layer}.attention.attention" for layer in range(len(self.layers))]

    def begin(self, texts: int) -> Moving:
        like = self.embeddings.target.weight.new_empty(texts, 0, self.config.width)
        return tuple(empty_past(layer.attention, like) for layer in self._layers)

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        embedded = self.embeddings.of_target(token[:, None])
        states = Sum(placed(embedded, self.positions, self.dropout, at=t[:, None]))  # equation 1
        moved = []
        for layer, past in zip(self._layers, moving, strict=True):
            states, after = layer(states, t, past)
            moved.append(cast(Past, after))
        return self.embeddings.output(states.normed_by(self.norm)[1]).squeeze(1), tuple(moved)

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        states = Sum(placed(self.embeddings.of_target(target), self.positions, self.dropout))
        for layer in self._layers:
            states, _ = layer(states)
        return states.normed_by(self.norm)[1]  # equation 3, before E

    def why_state_grows(self) -> str | None:
        return self.why_no_shared_cache()

    def why_no_shared_cache(self) -> str | None:
        return why_no_shared_cache(self.config.attention, self._layers[0].attention)

    def for_hypotheses(self, moving: Moving, count: int) -> Moving:
        if self.why_no_shared_cache() is not None:
            return super().for_hypotheses(moving, count)
        return tuple(shared_pasts(moving, count))

    @property
    def _layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))

    def _draw_weights(self) -> None:
        for layer in self._layers:
            last = {layer.attention.attention.of_output, layer.attention.output, layer.feed_forward.second}
            for module in layer.modules():
                if isinstance(module, nn.Linear):
                    scale = (2 * len(self.layers)) ** -0.5 if module in last else 1.0
                    nn.init.normal_(module.weight, std=0.02 * scale)
                    if module.bias is not None:
                        nn.init.zeros_(module.bias)
