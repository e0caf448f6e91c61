"""Elman (1990): Finding Structure in Time. A recurrent network that writes one word for each word that it reads:
the baseline, which cannot reorder, add or omit words.

    (1) h_i = tanh(W E x_i + U h_{i−1})
    (2) p(y_i) = softmax(W_o tanh(V h_i))

With `feedback` the readout sees the previous output: (2) is softmax(W_o tanh(V h_i + V' E y_{i−1})). Unlike in Jordan's
network (1986), the state h_i does not. The source ends with its end symbol, and so does the target at the same place;
after it only the end symbol is likely. With `bidirectional`, h_i = [→h_i; ←h_i] has seen the whole sentence: the model
can then reorder what its states remember, but still writes as many words as it reads.

Deviations: word vectors are learnt (Elman's are one-hot or random); a hidden layer below the softmax allows tied
embeddings; the gradient flows through the whole sentence (Elman's flows back one step); optionally several layers,
other units (`cell`), and dropout.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.recurrent import Cell, RecurrentEncoder
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Width
from saccade.text import EOS

_CERTAIN = 20.0  # the logit of the end symbol after the source; all others are 0


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 31  # width of the word vectors
    hidden: Width = 150  # width of the states, per direction
    layers: Layers = 1  # number of layers
    bidirectional: bool = False  # read the source in both directions
    feedback: bool = False  # let the readout see the previous output
    cell: Cell = "tanh"  # kind of recurrent unit
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


class Fixed(NamedTuple):
    states: Tensor  # V h (B, S + 1, embedding)
    readable: Tensor  # (B, S + 1): False at the last place, after the source


Moving = tuple[()]  # everything is in the source's states


class AlignedRNN(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64),
        "small": Config(embedding=96, hidden=128, bidirectional=True, cell="gru"),
        "base": Config(embedding=256, hidden=512, layers=2, bidirectional=True, cell="lstm", dropout=0.2),
        "paper": Config(),
    }
    paper = PaperInfo("Elman", 1990, "Finding Structure in Time", "one word for each word that it writes")

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie)
        if not config.feedback and config.tie == "none":
            del self.embeddings.target  # nothing would read it
        self.encoder = RecurrentEncoder(
            config.cell,
            config.embedding,
            config.hidden,
            layers=config.layers,
            bidirectional=config.bidirectional,
            dropout=config.at_layer,
        )
        self.of_state = nn.Linear(self.encoder.out, config.embedding)
        self.of_last = nn.Linear(config.embedding, config.embedding, bias=False) if config.feedback else None
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.output_dropout = make_dropout(config.at_output)

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        embedded = self.embedding_dropout(self.embeddings.of_source(source))
        states, _ = self.encoder(embedded, readable)  # equation 1
        return Fixed(F.pad(self.of_state(states), (0, 0, 0, 1)), F.pad(readable, (0, 1))), ()

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        sentences, places = fixed.readable.shape
        row = torch.arange(token.shape[0], device=token.device) // (token.shape[0] // sentences)
        place = t.clamp_max(places - 1)
        return self._logits(fixed.states[row, place], fixed.readable[row, place], token), moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        fixed, _ = self.start(source, readable)
        place = torch.arange(target.shape[1], device=target.device).clamp_max(source.shape[1])
        return self._logits(fixed.states.index_select(1, place), fixed.readable.index_select(1, place), target)

    def _logits(self, states: Tensor, readable: Tensor, last: Tensor) -> Tensor:
        """Equation 2: states V h (…, ·) and the previous outputs (…) → logits (…, V)"""
        if self.of_last is not None:
            states = states + self.of_last(self.embedding_dropout(self.embeddings.of_target(last)))
        logits: Tensor = self.embeddings.output(self.output_dropout(torch.tanh(states)))
        beyond = logits.new_zeros(self.target_size)
        beyond[EOS].fill_(_CERTAIN)  # an assignment would copy a number of the host
        return torch.where(readable[..., None], logits, beyond)
