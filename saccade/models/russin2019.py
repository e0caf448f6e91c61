"""Russin, Jo, O'Reilly, Bengio (2019): Compositional generalization in a deep seq2seq model by separating syntax and
semantics. The order of the words alone decides where to look; the word at that place alone decides what to write.

    (1) m_j = E_m x_j                                      semantics: from the word alone
    (2) h_j = [→h_{j−1}; ←h_{j+1}], of an LSTM over E_s x  syntax: from the words around it
    (3) s_0 = tanh(W [→h_S; ←h_1])
    (4) a_i = softmax(s_i·h_j)                             keys are syntax …
    (5) d_i = Σ_j a_ij m_j,  p(y_i) = softmax(W_o d_i)     … values are semantics: nothing else reaches the output
    (6) c_i = Σ_j a_ij h_j,  s_{i+1} = LSTM(c_i, s_i)      only syntax reaches the decoder's state

So a word seen in only one position can be used wherever similar words can. As published, the decoder does not read its
own output; with `feedback` it does: the query in (4) is s_i + W_q E y_{i−1}, and (6) also reads W_y E y_{i−1}.
Three options of the paper relax the separation, to measure its effect: `sequential` (a bidirectional LSTM over m),
`nonlinear` (relu(V relu(d_i)) instead of d_i), `syntax_acts` (W_o reads d_i + W_c c_i). A meaning writes one token:
where one source token becomes several, `syntax_acts` is needed.
`attention = "name"` replaces (4) by any other attention; c_i then uses the mean of its heads' weights.

Deviations: (3) is the LSTM's output, with an empty cell (the released code: relu, and only the first query); all layers
above (2) have one width (the released code has a second, twice as wide as the first); `surroundings = false` gives
h_j = [→h_j; ←h_j]; embeddings may be tied; `cell` chooses another unit.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import History, Memory
from saccade.attention.table import build
from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.late_gradients import late_gradients
from saccade.layers.recurrent import UNITS, Cell, First, FirstState, RecurrentEncoder
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Width
from saccade.text import PAD


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    semantics: Width = 120  # width of the meanings and of the last hidden layer
    embedding: Width = 100  # width of the word vectors for the syntax
    hidden: Width = 400  # width of the syntax (both directions together) and of the decoder
    layers: Layers = 2  # number of layers of the syntax; the first is equation 2
    surroundings: bool = True  # exclude a word itself from its syntax
    attention: str = "luong2015-global-dot"  # attention over the source, by name
    feedback: bool = False  # let the decoder read its last output
    sequential: bool = False  # compute meanings with a bidirectional LSTM
    nonlinear: bool = False  # add a hidden layer between meanings and output
    syntax_acts: bool = False  # let the output read the syntax, too
    cell: Cell = "lstm"  # kind of recurrent unit
    first: First = "last"  # the decoder's first state: from the encoder's last state, from its mean state, or zero
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source

    def __post_init__(self) -> None:
        super().__post_init__()
        halved = ("hidden", "semantics") if self.sequential else ("hidden",)
        for name in halved:
            if getattr(self, name) % 2:
                raise ValueError(f"{name} must be even, since two directions share it; got {getattr(self, name)}")


class Fixed(NamedTuple):
    memory: Memory  # keys of syntax, values of semantics
    syntax: Tensor  # h (B, S, hidden)


class Moving(NamedTuple):
    state: Tensor  # s (R, the unit's size)
    history: History | None  # if the attention needs it


class Syntax(nn.Module):
    """Equation 2, and any layers above it"""

    def __init__(self, config: Config, source_size: int) -> None:
        super().__init__()
        half = config.hidden // 2
        self.words = nn.Embedding(source_size, config.embedding, padding_idx=PAD)
        self.around = RecurrentEncoder(config.cell, config.embedding, half)
        self.above = RecurrentEncoder(
            config.cell, config.hidden, half, layers=config.layers - 1, dropout=config.at_layer
        )
        self.surroundings = config.surroundings
        self.embedding_dropout, self.layer_dropout = make_dropout(config.at_embedding), make_dropout(config.at_layer)

    def forward(self, source: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
        """→ h (B, S, hidden), the last layer's states at its end"""
        states, ends = self.around(self.embedding_dropout(self.words(source)), readable)
        if self.surroundings:
            forwards, backwards = states.chunk(2, -1)
            states = torch.cat([F.pad(forwards, (0, 0, 1, -1)), F.pad(backwards, (0, 0, -1, 1))], -1)
        if len(self.above.layers):
            states, ends = self.above(self.layer_dropout(states), readable)
        return states, ends[-1]


class Control(nn.Module):
    """The decoder's state: equations 3 and 6"""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.unit = UNITS[config.cell](config.hidden, config.hidden)
        self.first = FirstState(config.first, config.hidden, last=config.hidden, annotation=config.hidden)
        self.of_last = self.asked = None
        if config.feedback:
            self.of_last = nn.Linear(config.semantics, self.unit.projected, bias=False)  # W_y
            self.asked = nn.Linear(config.semantics, config.hidden, bias=False)  # W_q

    def start(self, end: Tensor, syntax: Tensor, readable: Tensor) -> Tensor:
        output = self.first(self.unit.read(end), syntax, readable)
        return F.pad(output, (0, self.unit.size - self.unit.width))

    def query(self, state: Tensor, last: Tensor | None) -> Tensor:
        """(R, 1, hidden)"""
        output = self.unit.read(state)
        return (output if self.asked is None else output + self.asked(last))[:, None]

    def forward(self, syntax: Tensor, last: Tensor | None, state: Tensor) -> Tensor:
        """c (R, hidden), E y_{i−1} (R, semantics) → state"""
        projected = self.unit.of_input(syntax)
        return self.unit.advance(projected if self.of_last is None else projected + self.of_last(last), state)


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        width, wide = config.semantics, config.hidden
        self.control = Control(config)
        self.attention = build(config.attention, query_dim=wide, memory_dim=wide, width=wide, value_dim=width)
        read = self.attention.context_dim
        self.deeper = nn.Linear(read, read) if config.nonlinear else None
        self.of_syntax = nn.Linear(wide, width, bias=False) if config.syntax_acts else None
        self.of_meaning = nn.Linear(read, width, bias=False) if read != width else nn.Identity()
        self.output_dropout = make_dropout(config.at_output)

    def step(
        self, last: Tensor | None, at: int | Tensor, fixed: Fixed, moving: Moving
    ) -> tuple[Tensor, Tensor, Moving]:
        """Equations 4 to 6 → d_i, c_i, the new Moving"""
        memory, syntax = fixed
        state, history = moving
        reading = self.attention(self.control.query(state, last), memory, at=at, history=history, weights=True)
        assert reading.weights is not None
        weights = reading.weights.mean(1).reshape(memory.sentences, memory.readers, -1)  # (B, N, S)
        read = (weights.to(syntax.dtype) @ syntax).flatten(0, 1)
        return reading.context.squeeze(1), read, Moving(self.control(read, last, state), reading.history)

    def readout(self, meanings: Tensor, syntaxes: Tensor) -> Tensor:
        """Equation 5, before W_o"""
        if self.deeper is not None:
            meanings = F.relu(self.deeper(F.relu(meanings)))
        read = self.of_meaning(meanings)
        if self.of_syntax is not None:
            read = read + self.of_syntax(syntaxes)
        dropped: Tensor = self.output_dropout(read)
        return dropped


class Russin2019(Seq2Seq[Fixed, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(semantics=64, embedding=64, hidden=64, layers=1, feedback=True),
        "small": Config(semantics=96, embedding=96, hidden=128, feedback=True),
        "base": Config(semantics=256, embedding=256, hidden=512, feedback=True, syntax_acts=True, dropout=0.2),
        "paper": Config(embedding_dropout=0.5),
    }
    paper = PaperInfo(
        "Russin, Jo, O'Reilly, Bengio",
        2019,
        "Compositional generalization in a deep seq2seq model by separating syntax and semantics",
        "one attention with keys from syntax and values from words",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        self.embeddings = Embeddings(source_size, target_size, config.semantics, tie=config.tie)
        if not config.feedback and config.tie == "none":
            del self.embeddings.target  # nothing would read it
        self.semantics = (
            RecurrentEncoder(config.cell, config.semantics, config.semantics // 2) if config.sequential else None
        )
        self.syntax = Syntax(config, source_size)
        self.decoder = Decoder(config)
        self.embedding_dropout, self.layer_dropout = make_dropout(config.at_embedding), make_dropout(config.at_layer)

    @property
    def cross(self) -> list[str]:
        return ["decoder.attention"]

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, Moving]:
        meanings = self.embedding_dropout(self.embeddings.of_source(source))  # equation 1
        if self.semantics is not None:
            meanings, _ = self.semantics(meanings, readable)
        syntax, end = self.syntax(source, readable)
        state = self.decoder.control.start(end, syntax, readable)
        syntax = self.layer_dropout(syntax)
        memory = self.decoder.attention.remember(syntax, readable, values=meanings)
        return Fixed(memory, syntax), Moving(state, None)

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        readers = token.shape[0] // fixed.memory.sentences
        fixed = fixed._replace(memory=fixed.memory.shared(readers))
        meaning, syntax, moving = self.decoder.step(self._last(token), t, fixed, moving)
        return self.embeddings.output(self.decoder.readout(meaning, syntax)), moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        fixed, moving = self.start(source, readable)
        last = self._last(target)
        steps = [None] * target.shape[1] if last is None else last.unbind(1)
        meanings, syntaxes = [], []
        with late_gradients(len(steps)):
            for i, before in enumerate(steps):
                meaning, syntax, moving = self.decoder.step(before, i, fixed, moving)
                meanings.append(meaning)
                syntaxes.append(syntax)
        return self.decoder.readout(torch.stack(meanings, 1), torch.stack(syntaxes, 1))

    def _last(self, tokens: Tensor) -> Tensor | None:
        return self.embedding_dropout(self.embeddings.of_target(tokens)) if self.config.feedback else None
