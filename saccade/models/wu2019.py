"""Wu, Cotterell (2019): Exact Hard Monotonic Attention for Character-Level Transduction. Each output is written from
one place of the source, and places only move forward. Nobody says which: all paths are summed, exactly.

    (1) h_j = [→h_j; ←h_j]                                     annotations of a bidirectional LSTM
    (2) s_i = LSTM(E y_{i−1}, s_{i−1})                         the decoder reads nothing but its own output
    (3) p(a_i = j + k | a_{i−1} = j) = softmax_k(U tanh(T_s s_i + T_h h_j)),  0 ≤ k ≤ K      the jump
    (4) p(y_i | a_i = j) = softmax(W tanh(V_s s_i + V_h h_j))                                the output, written at j
    (5) α_i(j) = Σ_k p(a_i = j | a_{i−1} = j − k) β_{i−1}(j − k)                             before y_i is known …
    (6) β_i(j) = α_i(j) p(y_i | a_i = j) / p(y_i)                                            … and after
    (7) p(y_i) = Σ_j α_i(j) p(y_i | a_i = j)

α_i is what a trace shows as the weights of step i. It differs from soft attention in (7): the outputs of all places are
mixed, not their annotations, so that each place must explain an output by itself. a_0 is the first place, and no jump
leads beyond the last one.

The model is made for spelling, pronunciation and inflection, where both sides have the same order; it reorders only
what its states remember. (4) computes an output distribution for every place, which takes S times the memory of other
models: use characters rather than subwords. The preset `paper` has the sizes of the authors' program for pronunciation.
Deviations: in that program, (3) has no hidden layer, and that of (4) is as wide as s and h together; here, both are as
wide as the embeddings. `cell` chooses another unit; embeddings may be tied.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Reading
from saccade.attention.trace import record, tracing_weights
from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings, Tie
from saccade.layers.recurrent import UNITS, Cell, RecurrentEncoder
from saccade.models.contract import PaperInfo, Seq2Seq
from saccade.ranges import Layers, Range, Width

_IMPOSSIBLE = -1e9  # a log-probability; −∞ would give gradients that are not numbers


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    embedding: Width = 200  # width of the word vectors and of the hidden layers of equations 3 and 4
    hidden: Width = 400  # width of the states; in the encoder, per direction
    layers: Layers = 2  # number of encoder layers
    jump: Annotated[int, Range(least=1, most=64)] = 4  # the longest jump K, in source tokens
    cell: Cell = "lstm"  # kind of recurrent unit
    tie: Tie = "none"  # share embeddings: "target" input and output, or "all" with the source


class Places(NamedTuple):
    """What a jump and an output read at each place, projected once per sentence."""

    jumps: Tensor  # T_h h (B, S, embedding)
    outputs: Tensor  # V_h h (B, S, embedding)
    reachable: Tensor  # (B, S, K + 1) bool: is there a place k further on?


class Moving(NamedTuple):
    state: Tensor  # s (R, the unit's size)
    before: Tensor  # log α_i (R, S)
    outputs: Tensor  # log p(y_i | a_i = j) of every token (R, S, V), of which the next step knows which was written


class Jumps(nn.Module):
    """Equations 3 and 5: where the next output is written."""

    heads = 1

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.of_state = nn.Linear(config.hidden, config.embedding)  # T_s
        self.length = nn.Linear(config.embedding, config.jump + 1)  # U

    def forward(self, states: Tensor, places: Places) -> Tensor:
        """states s (B, Q, hidden) → log p of each jump from each place (B, Q, S, K + 1)"""
        scores = self.length(torch.tanh(self.of_state(states)[:, :, None] + places.jumps[:, None]))
        scores = scores.to(_precise(scores))  # half precision has no such number
        return _log_softmax(scores.masked_fill(~places.reachable[:, None], _IMPOSSIBLE))

    def arrive(self, jumps: Tensor) -> Tensor:
        """log p of the jumps from each place (…, S, K + 1) → log p of those to each place, longest first"""
        length, reach = jumps.shape[-2:]
        arrivals = [
            F.pad(jumps[..., : max(0, length - k), k], (min(k, length), 0), value=_IMPOSSIBLE)
            for k in reversed(range(reach))
        ]
        return torch.stack(arrivals, -1)

    def move(self, after: Tensor, arrivals: Tensor) -> Tensor:
        """log β_{i−1} (…, S), log p of the jumps to each place (…, S, K + 1) → log α_i (…, S)"""
        reach = arrivals.shape[-1]
        origins = F.pad(after, (reach - 1, 0), value=_IMPOSSIBLE).unfold(-1, reach, 1)
        return torch.logsumexp(origins + arrivals, -1)


class Decoder(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        annotation = 2 * config.hidden
        self.unit = UNITS[config.cell](config.embedding, config.hidden)
        self.jumps = Jumps(config)
        self.reach = config.jump + 1
        self.jumps_of_place = nn.Linear(annotation, config.embedding, bias=False)  # T_h
        self.outputs_of_place = nn.Linear(annotation, config.embedding, bias=False)  # V_h
        self.outputs_of_state = nn.Linear(config.hidden, config.embedding)  # V_s
        self.output_dropout = make_dropout(config.at_output)

    def remember(self, annotations: Tensor, readable: Tensor) -> Places:
        beyond = F.pad(readable, (0, self.reach - 1))
        reachable = beyond.unfold(1, self.reach, 1)  # (B, S, K + 1)
        stay = torch.arange(self.reach, device=readable.device) == 0  # possible even where there is nothing to read
        return Places(self.jumps_of_place(annotations), self.outputs_of_place(annotations), reachable | stay)

    def read(self, states: Tensor, places: Places) -> Tensor:
        """The hidden layer of equation 4 at every place: states (B, Q, hidden) → (B, Q, S, embedding)"""
        read: Tensor = self.output_dropout(
            torch.tanh(self.outputs_of_state(states)[:, :, None] + places.outputs[:, None])
        )
        return read


class Wu2019(Seq2Seq[Places, Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=64, hidden=64, layers=1),
        "small": Config(embedding=128, hidden=128, layers=1),
        "base": Config(embedding=128, hidden=256, layers=1, dropout=0.4),
        "paper": Config(dropout=0.4),
    }
    paper = PaperInfo(
        "Wu, Cotterell",
        2019,
        "Exact Hard Monotonic Attention for Character-Level Transduction",
        "one place for each output, over all paths that move forward",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        # Few letters are seen often: large vectors learn sooner, unless an output layer shares them.
        std = 1.0 if config.tie == "none" else None
        self.embeddings = Embeddings(source_size, target_size, config.embedding, tie=config.tie, std=std)
        self.encoder = RecurrentEncoder(
            config.cell, config.embedding, config.hidden, layers=config.layers, dropout=config.at_layer
        )
        self.decoder = Decoder(config)
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.layer_dropout = make_dropout(config.at_layer)

    @property
    def cross(self) -> list[str]:
        return ["decoder.jumps"]

    def start(self, source: Tensor, readable: Tensor) -> tuple[Places, Moving]:
        embedded = self.embedding_dropout(self.embeddings.of_source(source))
        annotations, _ = self.encoder(embedded, readable)  # equation 1
        places = self.decoder.remember(self.layer_dropout(annotations), readable)
        state = annotations.new_zeros(source.shape[0], self.decoder.unit.size)
        # The start symbol is written at the first place, whatever it costs: β_0 is α_0.
        outputs = torch.zeros(*source.shape, self.target_size, dtype=_precise(annotations), device=source.device)
        before = outputs.new_full(source.shape, _IMPOSSIBLE)
        before[:, :1].zero_()
        return places, Moving(state, before, outputs)

    def step(self, token: Tensor, t: Tensor, fixed: Places, moving: Moving) -> tuple[Tensor, Moving]:
        unit, sentences = self.decoder.unit, fixed.jumps.shape[0]
        after = _after(moving.before, _of_tokens(moving.outputs, token[:, None]))
        last = self.embedding_dropout(self.embeddings.of_target(token))
        state = unit.advance(unit.of_input(last), moving.state)  # equation 2
        states = self.layer_dropout(unit.read(state)).unflatten(0, (sentences, -1))  # (B, N, hidden)
        jumps, outputs = self._at_every_place(states, fixed)
        before = self.decoder.jumps.move(after, self.decoder.jumps.arrive(jumps.flatten(0, 1)))
        self._record(before[:, None])
        outputs = outputs.flatten(0, 1)
        return _mixed(before, outputs), Moving(state, before, outputs)

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        places, moving = self.start(source, readable)
        unit = self.decoder.unit
        last = self.embedding_dropout(self.embeddings.of_target(target))
        states, _ = unit.run(unit.of_input(last), moving.state)
        jumps, outputs = self._at_every_place(self.layer_dropout(states), places)
        written = _of_tokens(outputs[:, :-1], target[:, 1:, None])  # (B, T − 1, S)
        arrivals = self.decoder.jumps.arrive(jumps).unbind(1)  # for all steps at once
        before = [self.decoder.jumps.move(moving.before, arrivals[0])]
        for arrival, likelihood in zip(arrivals[1:], written.unbind(1), strict=True):
            before.append(self.decoder.jumps.move(_after(before[-1], likelihood), arrival))
        weights = torch.stack(before, 1)
        self._record(weights)
        return _mixed(weights, outputs)

    def _at_every_place(self, states: Tensor, places: Places) -> tuple[Tensor, Tensor]:
        """Equations 3 and 4: states (B, Q, hidden) → log p of the jumps (B, Q, S, K + 1), and of the tokens (…, V)"""
        outputs = self.embeddings.output(self.decoder.read(states, places))
        return self.decoder.jumps(states, places), _log_softmax(outputs)

    def _record(self, before: Tensor) -> None:
        """log α (R, T, S), as the weights of one head that reads no context"""
        if tracing_weights():
            weights = before.exp()[:, None]
            record(self.decoder.jumps, Reading(weights.new_empty(*before.shape[:2], 0), weights))


def _after(before: Tensor, written: Tensor) -> Tensor:
    """Equation 6: log α_i and log p(y_i | a_i = j) → log β_i, each (…, S)"""
    return (before + written).log_softmax(-1)


def _mixed(before: Tensor, outputs: Tensor) -> Tensor:
    """Equation 7: log α (…, S), log p of the tokens (…, S, V) → log p(y) (…, V)"""
    mixed = (before.exp()[..., None, :] @ outputs.exp()).squeeze(-2)
    return mixed.clamp_min(torch.finfo(mixed.dtype).tiny).log()


def _of_tokens(outputs: Tensor, tokens: Tensor) -> Tensor:
    """log p (…, S, V) of the tokens (…, 1) → (…, S)"""
    places = tokens[..., None].expand(*outputs.shape[:-1], 1)
    return outputs.gather(-1, places).squeeze(-1)


def _log_softmax(scores: Tensor) -> Tensor:
    """Paths are sums of many log-probabilities: at least in float32"""
    return scores.log_softmax(-1, dtype=_precise(scores))


def _precise(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)
