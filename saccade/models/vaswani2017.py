"""Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin (2017): Attention Is All You Need.
No recurrence: attention in three places, each replaceable by name.

    (1) x = √d·E + PE                                      positions added, or rotary inside self-attention
    (2) encoder layer:  x ← x + SelfAttention(x);  x ← x + FFN(x)
    (3) decoder layer:  y ← y + CausalSelfAttention(y);  y ← y + CrossAttention(y, x);  y ← y + FFN(y)
    (4) Attention(Q, K, V) = softmax(Q Kᵀ/√d) V, in several heads
    (5) p(y_i) = softmax(E y_i)                            embeddings tied

`norm = "post"` normalises after each sum, as published; the default is "pre", before each function and once at the end,
which trains without a long warm-up. The paper does not give its initial weights. Matrices start by Xavier's rule, or
with post-norm from N(0, 0.02²), so that each function adds little to its input at first: by Xavier's rule it would add
as much as the input, each norm would then shrink the residual stream, and the lower layers would hardly learn.
`first_weights` chooses one of the two.

Options beyond the paper: RMSNorm, gated or convolutional feed-forward networks, learned or rotary positions, stochastic
depth (Huang 2016), and no feed-forward networks, residuals or norms, to see what they contribute.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn

from saccade.attention import History, Memory
from saccade.attention.memory import zero_unreadable
from saccade.attention.short import attend_itself
from saccade.layers.causal_attention import Past, attend_past, empty_past, shared_pasts, why_no_shared_cache
from saccade.layers.dropout import make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.transformer_block import (
    Biased,
    FeedForward,
    Function,
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
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Checked, Heads, Kernel, Layers, Length, Share, Width


@dataclass(frozen=True, kw_only=True)
class Config(Checked):
    width: Width = 512  # width of the model
    inner: Width = 2048  # width of the feed-forward network
    heads: Heads = 8  # number of attention heads
    encoder_layers: Layers = 6  # number of encoder layers
    decoder_layers: Layers = 6  # number of decoder layers
    norm: NormPlace = "pre"  # normalise before each function, or after each sum
    norm_kind: NormKind = "layer"  # LayerNorm, RMSNorm or none
    first_weights: Literal["xavier", "small"] | None = None  # Xavier's rule, or N(0, 0.02²); none: small for post-norm
    residual: bool = True  # add the input of each function to its output
    positions: PositionKind = "sinusoidal"  # encoding of positions
    longest: Length = 1024  # number of learned positions
    feed_forward: Literal["relu", "gelu", "gated", "convolution", "none"] = "relu"  # kind of feed-forward network
    kernel: Kernel = 3  # kernel width of a convolutional feed-forward network
    dropout: Share = 0.1  # dropout rate
    attention_dropout: Share = 0.0  # dropout rate of the attention weights
    stochastic_depth: Share = 0.0  # probability that a function of a layer is left out of an update
    encoder_attention: str = "vaswani2017"  # the encoder's self-attention, by name
    decoder_attention: str = "vaswani2017"  # the decoder's self-attention, by name
    cross_attention: str = "vaswani2017"  # attention over the source, by name
    tie: Tie = "target"  # share embeddings: "target" input and output, or "all" with the source


class LayerMoving(NamedTuple):
    """The state of one decoder layer, one row per hypothesis."""

    past: Past
    cross_history: History | None
    recent: Tensor | None  # (R, kernel − 1, width): the previous inputs of a convolutional feed-forward


Fixed = tuple[Memory, ...]  # of each decoder layer's cross-attention
Moving = tuple[LayerMoving, ...]


class EncoderLayer(nn.Module):
    """Equation 2; equation 4 is the attention that `_site` builds by name."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = _site(config.encoder_attention, config)
        self.feed_forward = _feed_forward(config)
        self.around = nn.ModuleList(_sublayer(config) for _ in range(1 if self.feed_forward is None else 2))

    def forward(self, inputs: Sum, readable: Tensor) -> Sum:
        def attend(x: Tensor) -> Tensor:
            read: Tensor = self.attention.output(attend_itself(self.attention.attention, x, readable))
            return read

        outputs: Sum = self.around[0](inputs, attend)
        if (feed_forward := self.feed_forward) is not None:
            outputs = self.around[1](outputs, lambda x: feed_forward.without_bias(x, readable))
        return outputs


class DecoderLayer(nn.Module):
    """Equation 3"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = _site(config.decoder_attention, config, causal=True)
        self.cross = _site(config.cross_attention, config, cross=True)
        self.feed_forward = _feed_forward(config, causal=True)
        self.around = nn.ModuleList(_sublayer(config) for _ in range(2 if self.feed_forward is None else 3))

    def forward(
        self, inputs: Sum, memory: Memory, at: Tensor | None = None, moving: LayerMoving | None = None
    ) -> tuple[Sum, LayerMoving | None]:
        """For a whole target, or, given `moving`, for the next token of each row at positions `at`."""
        past: Past | None = None
        recent = cross_history = None

        def attend(x: Tensor) -> Tensor:
            nonlocal past
            context, past = attend_past(self.attention, x, at, moving and moving.past)
            return context

        def attend_source(x: Tensor) -> Tensor:
            nonlocal cross_history
            reading = self.cross.attention(x, memory, at=at, history=moving and moving.cross_history)
            cross_history = reading.history
            read: Tensor = self.cross.output(reading.context)
            return read

        def transform(x: Tensor) -> Biased:
            nonlocal recent
            assert self.feed_forward is not None
            before = None if moving is None else moving.recent
            if before is not None:
                recent = torch.cat([before, x], 1)[:, 1:]
            return self.feed_forward.without_bias(x, before=before)

        outputs = inputs
        functions: list[Function] = [attend, attend_source]
        if self.feed_forward is not None:
            functions.append(transform)
        for around, function in zip(self.around, functions, strict=True):
            outputs = around(outputs, function)
        return outputs, None if past is None else LayerMoving(past, cross_history, recent)


class Vaswani2017(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(width=128, inner=256, heads=4, encoder_layers=2, decoder_layers=2, tie="all"),
        "small": Config(width=256, inner=1024, heads=4, encoder_layers=4, decoder_layers=4, dropout=0.3, tie="all"),
        "base": Config(tie="all"),
        "paper": Config(norm="post", tie="all"),
    }
    alignment_shift = 1
    paper = PaperInfo(
        "Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin",
        2017,
        "Attention Is All You Need",
        "an attention in every decoder layer",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.width, tie=config.tie, scale=True)
        self.positions = make_positions(config.positions, config.width, config.longest)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        last: NormKind = config.norm_kind if config.norm == "pre" else "none"  # post-norm ends on a norm already
        self.encoder_norm, self.decoder_norm = (norm(last, config.width, is_projected=True) for _ in range(2))
        self.dropout = make_dropout(config.dropout)
        for linear in (m for half in (self.encoder, self.decoder) for m in half.modules() if isinstance(m, nn.Linear)):
            _draw_weights(linear, config.first_weights or ("xavier" if config.norm == "pre" else "small"))

    @property
    def cross(self) -> list[str]:
        return [f"decoder.{layer}.cross.attention" for layer in range(len(self.decoder))]

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        states = Sum(self._placed(self.embeddings.source, source))
        for layer in self.encoder:
            states = layer(states, readable)
        encoded = zero_unreadable(states.normed_by(self.encoder_norm)[1], readable)
        fixed = tuple(layer.cross.attention.remember(encoded, readable, is_zeroed=True) for layer in self._decoders)
        return fixed, tuple(_empty_cache(layer, encoded) for layer in self._decoders)

    def why_state_grows(self) -> str | None:
        return self.why_no_shared_cache()

    def why_no_shared_cache(self) -> str | None:
        return why_no_shared_cache(self.config.decoder_attention, self._decoders[0].attention)

    def for_hypotheses(self, moving: Moving, count: int) -> Moving:
        repeated = super().for_hypotheses(moving, count)
        if self.why_no_shared_cache() is not None:
            return repeated
        pasts = shared_pasts([layer.past for layer in moving], count)
        return tuple(layer._replace(past=past) for layer, past in zip(repeated, pasts, strict=True))

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        states = Sum(self._placed(self.embeddings.target, token[:, None], t[:, None]))
        moved = []
        for layer, memory, before in zip(self.decoder, fixed, moving, strict=True):
            shared = memory.shared(token.shape[0] // memory.sentences)
            states, after = layer(states, shared, t, before)
            moved.append(after)
        return self.embeddings.output(states.normed_by(self.decoder_norm)[1]).squeeze(1), tuple(moved)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))  # equation 5
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        fixed, _ = self.start(source, readable)
        states = Sum(self._placed(self.embeddings.target, target))
        for layer, memory in zip(self.decoder, fixed, strict=True):
            states, _ = layer(states, memory)
        return states.normed_by(self.decoder_norm)[1]

    def _placed(self, embedding: nn.Module, tokens: Tensor, at: Tensor | None = None) -> Tensor:
        """Equation 1"""
        return placed(embedding(tokens), self.positions, self.dropout, scale=self.embeddings.scale, at=at)

    @property
    def _decoders(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.decoder))


def _draw_weights(linear: nn.Linear, kind: Literal["xavier", "small"]) -> None:
    if kind == "xavier":
        nn.init.xavier_uniform_(linear.weight)
        return
    nn.init.normal_(linear.weight, std=0.02)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)


def _empty_cache(layer: DecoderLayer, encoded: Tensor) -> LayerMoving:
    """Before the first token: an empty cache, one row per sentence."""
    remembers = 0 if layer.feed_forward is None else layer.feed_forward.remembers
    recent = encoded.new_zeros(encoded.shape[0], remembers, encoded.shape[-1]) if remembers else None
    return LayerMoving(empty_past(layer.attention, encoded), None, recent)


def _site(name: str, config: Config, *, causal: bool = False, cross: bool = False) -> Site:
    return Site(
        name,
        config.width,
        heads=config.heads,
        dropout=config.attention_dropout,
        causal=causal,
        rotary=config.positions == "rotary" and not cross,
    )


def _sublayer(config: Config) -> Sublayer:
    return Sublayer(
        config.width,
        place=config.norm,
        kind=config.norm_kind,
        residual=config.residual,
        dropout=config.dropout,
        stochastic_depth=config.stochastic_depth,
    )


def _feed_forward(config: Config, *, causal: bool = False) -> FeedForward | None:
    if config.feed_forward == "none":
        return None
    return FeedForward(
        config.width,
        config.inner,
        kind=config.feed_forward,
        dropout=config.dropout,
        kernel=config.kernel,
        causal=causal,
    )
