"""Kalchbrenner, Blunsom (2013): Recurrent Continuous Translation Models. Convolutions turn the sentence into one
vector, from which a recurrent network writes: model I of the paper.

    (1) E_1 = (E x_1 … E x_S)                              one column per word, q rows
    (2) E_i = tanh(K^i ∗ E_{i−1}),  i = 2, 3, …            row by row; K^i has i columns: i − 1 columns fewer per layer
    (3) e = tanh(L^n ∗ E_{i−1})                            when n < i columns are left, L^n joins them
    (4) h_i = tanh(R h_{i−1} + I E y_{i−1} + S e),  h_0 = 0    e enters every step
    (5) p(y_i) = softmax(O h_i)

A sentence of one word is its own vector; the vector of an empty one is zero. Deviations: kernels grow up to `widest`
columns, and the widest is repeated as long as it fits, so that no sentence is too long; the target ends with a symbol
(the paper predicts the length separately); the softmax is over all words (in the paper, over classes and then words);
`cell` replaces (4) by another unit, `first` chooses another h_0; optional dropout.
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.recurrent import UNITS, Cell, First, FirstState
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Range, Width

_Columns = Annotated[int, Range(least=2, most=1_000)]


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 256  # width of the word vectors
    hidden: Width = 256  # width of the decoder's state
    widest: _Columns = 12  # columns of the largest kernel; with 1, a sentence would never become one vector
    cell: Cell = "tanh"  # kind of recurrent unit
    first: First = "zero"  # the decoder's first state: from the sentence's vector, from the mean word vector, or zero
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


class Fixed(NamedTuple):
    vector: Tensor  # S e (B, ·) for each gate of the unit


class Moving(NamedTuple):
    state: Tensor  # h (R, the unit's size)


class Encoder(nn.Module):
    """The convolutional sentence model: equations 2 and 3.

    All kernels are one parameter, and all last kernels another: every update reaches both, whatever the lengths.
    """

    def __init__(self, width: int, widest: int) -> None:
        super().__init__()
        self.widths, self.last_widths = range(2, widest + 1), range(2, widest)
        self.kernels = nn.Parameter(torch.cat([_kernel(width, w) for w in self.widths], 1))  # K^2 … (q, Σw)
        last = [_kernel(width, w) for w in self.last_widths]
        self.last = nn.Parameter(torch.cat(last, 1)) if last else None  # L^2 … (q, Σw)

    def forward(self, embedded: Tensor, readable: Tensor) -> Tensor:
        """embedded (B, S, q), readable (B, S): each sentence at the front → e (B, q)"""
        columns = embedded.masked_fill(~readable[..., None], 0.0).transpose(1, 2)  # equation 1 (B, q, S)
        left = readable.sum(1)  # columns of each sentence
        kernels = torch.split(self.kernels, list(self.widths), 1)
        longest, layer = columns.shape[-1], 0
        while longest >= (width := self.widths[min(layer, len(self.widths) - 1)]):
            convolved = F.conv1d(columns, kernels[width - 2][:, None], groups=columns.shape[1])
            fits = left >= width  # a sentence with fewer columns stays as it is
            columns = torch.where(fits[:, None, None], F.pad(torch.tanh(convolved), (0, width - 1)), columns)
            left = torch.where(fits, left - width + 1, left)
            longest, layer = longest - width + 1, layer + 1
        return self._join_last_columns(columns, left)

    def _join_last_columns(self, columns: Tensor, left: Tensor) -> Tensor:
        """Equation 3: each sentence with the kernel as wide as its remaining columns; one column, or none, stays."""
        most = len(self.last_widths) + 1
        columns = F.pad(columns, (0, most))[..., :most]
        if self.last is None:
            return columns[..., 0]
        kernels = torch.split(self.last, list(self.last_widths), 1)
        padded = torch.stack([F.pad(kernel, (0, most - kernel.shape[1])) for kernel in kernels])  # (·, q, most)
        joined = torch.tanh((padded[(left - 2).clamp_min(0)] * columns).sum(-1))
        return torch.where(left[:, None] > 1, joined, columns[..., 0])


class Kalchbrenner2013(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64),
        "small": Config(embedding=128, hidden=128, cell="gru"),
        "base": Config(embedding=512, hidden=512, cell="lstm", dropout=0.2),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Kalchbrenner, Blunsom", 2013, "Recurrent Continuous Translation Models", "one fixed vector, from convolutions"
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        unit = UNITS[config.cell]
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        self.encoder = Encoder(config.embedding, config.widest)
        self.first = FirstState(
            config.first, unit.parts * config.hidden, last=config.embedding, annotation=config.embedding
        )
        self.unit = unit(config.embedding, config.hidden)
        self.of_vector = nn.Linear(config.embedding, self.unit.projected, bias=False)  # S
        self.narrow = nn.Linear(config.hidden, config.embedding) if config.hidden != config.embedding else nn.Identity()
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.layer_dropout = make_dropout(config.at_layer)
        self.output_dropout = make_dropout(config.at_output)

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        embedded = self.embedding_dropout(self.embeddings.of_source(source))
        vector = self.layer_dropout(self.encoder(embedded, readable))
        return Fixed(self.of_vector(vector)), Moving(self.first(vector, embedded, readable))

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        vector = fixed.vector.repeat_interleave(token.shape[0] // fixed.vector.shape[0], 0)
        last = self.embedding_dropout(self.embeddings.of_target(token))
        state = self.unit(self.unit.of_input(last) + vector, moving.state)  # equation 4
        return self.embeddings.output(self._read(self.unit.read(state))), Moving(state)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        (vector,), (state,) = self.start(source, readable)
        last = self.embedding_dropout(self.embeddings.of_target(target))
        states, _ = self.unit.run(self.unit.of_input(last) + vector[:, None], state)
        return self._read(states)

    def _read(self, states: Tensor) -> Tensor:
        """Equation 5, before O"""
        read: Tensor = self.narrow(self.output_dropout(states))
        return read


def _kernel(rows: int, columns: int) -> Tensor:
    """Scaled so that sums of `columns` words are as large as words."""
    return torch.empty(rows, columns).uniform_(-1, 1) * math.sqrt(3 / columns)
