"""Recurrent units, one step at a time; encoders that run them over a padded sentence; the decoder's stack."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from saccade.layers.cell_steps import CellSteps
from saccade.layers.dropout import make_dropout
from saccade.layers.late_gradients import late_gradients
from saccade.layers.scan import (
    CellScan,
    GatedScan,
    LongShortTermScan,
    TanhScan,
    scan,
    scan_both,
    why_not_fused,
    why_not_scanned,
)
from saccade.loops import current_loop

Cell = Literal["tanh", "gru", "lstm"]
First = Literal["last", "mean", "zero"]


class RecurrentUnit(nn.Module, ABC):
    """One step: `state = unit(unit.of_input(x), state)`; its output h (…, width) is `unit.read(state)`.

    Inputs are projected beforehand, a whole sentence in one product. A state is one tensor (…, size): h alone, or h
    followed by an LSTM's cell.
    """

    gates: ClassVar[int] = 1  # vectors of `width` that an input is projected to
    parts: ClassVar[int] = 1  # vectors of `width` that a state holds; h is the first

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.size, self.projected = self.parts * width, self.gates * width
        self.of_input = nn.Linear(inputs, self.projected)

    @abstractmethod
    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        """projected (B, gates·width), state (B, size) → state"""

    @abstractmethod
    def recurrent_layers(self) -> tuple[nn.Linear, ...]:
        """The layers that read a state, in the order of the parts of `projected` to which they are added"""

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        """`forward`, with a derivative of its own where fused kernels train a decoder's loop"""
        loop, kind = current_loop(), SCANS.get(type(self))
        if loop is not None and kind is not None and why_not_fused(kind, projected) is None:
            weights = [layer.weight for layer in self.recurrent_layers()]
            steps = loop.share(self, lambda: CellSteps(kind, weights, projected, loop.steps))
            if steps.fits(projected):
                return steps(projected, state)
        return cast(Tensor, self(projected, state))

    def output(self, state: Tensor) -> Tensor:
        """`read`, for the state after a step of this unit: it may be in the precision of the products that read it"""
        loop = current_loop()
        steps = None if loop is None else cast(CellSteps | None, loop.find(self))
        output = None if steps is None else steps.output_of(state)
        return self.read(state) if output is None else output

    @classmethod
    def read(cls, state: Tensor) -> Tensor:
        return state if cls.parts == 1 else state.chunk(cls.parts, -1)[0]

    def run(
        self, projected: Tensor, state: Tensor, readable: Tensor | None = None, *, backwards: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Run over a sentence (B, S, gates·width) → h (B, S, width), the last state. Padding does not change the
        state.
        """
        length, kind = projected.shape[1], SCANS.get(type(self))
        padded = [False] * length if readable is None else _find_padded_steps(readable)
        if length and kind is not None and why_not_scanned(kind) is None:
            weights = [layer.weight for layer in self.recurrent_layers()]
            return scan(kind, projected, state, weights, readable, padded, backwards=backwards)
        steps = projected.unbind(1)
        keep: Sequence[Tensor] = () if readable is None else readable[..., None].unbind(1)
        outputs = [state] * length
        with late_gradients(len(steps)):
            for s in reversed(range(len(steps))) if backwards else range(len(steps)):
                new = self(steps[s], state)
                state = torch.where(keep[s], new, state) if padded[s] else new
                outputs[s] = self.read(state)
        return torch.stack(outputs, 1) if outputs else projected[..., : self.width], state


class TanhUnit(RecurrentUnit):
    """Elman 1990: h = tanh(W x + U h₋₁)"""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width)
        self.of_state = nn.Linear(width, width, bias=False)
        _init_orthogonal(self.of_state)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        return torch.tanh(projected + self.of_state(state))

    def recurrent_layers(self) -> tuple[nn.Linear, ...]:
        return (self.of_state,)


class GatedUnit(RecurrentUnit):
    """The GRU of Cho 2014, which resets the state *before* the recurrent product (torch's GRU resets after it):

    r = σ(W_r x + U_r h₋₁)    z = σ(W_z x + U_z h₋₁)
    h̃ = tanh(W x + U (r∘h₋₁))    h = z∘h₋₁ + (1 − z)∘h̃
    """

    gates = 3

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width)
        self.of_gates = nn.Linear(width, 2 * width, bias=False)
        self.of_candidate = nn.Linear(width, width, bias=False)
        _init_orthogonal(self.of_gates, self.of_candidate)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        of_gates, of_candidate = torch.split(projected, [2 * self.width, self.width], -1)
        reset, update = torch.sigmoid(of_gates + self.of_gates(state)).chunk(2, -1)
        candidate = torch.tanh(of_candidate + self.of_candidate(reset * state))
        return torch.addcmul(candidate, update, state - candidate)  # unlike lerp, keeps float32 under autocast

    def recurrent_layers(self) -> tuple[nn.Linear, ...]:
        return self.of_gates, self.of_candidate


class LongShortTermUnit(RecurrentUnit):
    """The LSTM of Hochreiter & Schmidhuber 1997 with the forget gate of Gers 2000, whose bias starts at 1:

        f, i, o = σ(W x + U h₋₁)    g = tanh(W x + U h₋₁)
        c = f∘c₋₁ + i∘g    h = o∘tanh(c)

    It has no peepholes. A state is [h; c].
    """

    gates = 4
    parts = 2

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__(inputs, width)
        self.of_state = nn.Linear(width, 4 * width, bias=False)
        _init_orthogonal(self.of_state)
        nn.init.ones_(self.of_input.bias.detach()[:width])

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        output, cell = state.chunk(2, -1)
        of_gates, of_candidate = torch.split(projected + self.of_state(output), [3 * self.width, self.width], -1)
        forget, enter, leave = torch.sigmoid(of_gates).chunk(3, -1)
        cell = forget * cell + enter * torch.tanh(of_candidate)
        return torch.cat([leave * torch.tanh(cell), cell], -1)

    def recurrent_layers(self) -> tuple[nn.Linear, ...]:
        return (self.of_state,)


UNITS: Mapping[Cell, type[RecurrentUnit]] = {"tanh": TanhUnit, "gru": GatedUnit, "lstm": LongShortTermUnit}
# A subclass may have other equations, so it has no scan.
SCANS: Mapping[type[RecurrentUnit], type[CellScan]] = {
    TanhUnit: TanhScan,
    GatedUnit: GatedScan,
    LongShortTermUnit: LongShortTermScan,
}


class Recurrence(nn.Module):
    """A unit run over a padded sentence from a zero state, forwards or backwards."""

    def __init__(self, cell: Cell, inputs: int, width: int, *, backwards: bool = False) -> None:
        super().__init__()
        self.unit = UNITS[cell](inputs, width)
        self.backwards = backwards

    def forward(self, inputs: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
        """inputs (B, S, ·), readable (B, S) → h (B, S, width), the last state (B, size)"""
        return _run_directions([self], inputs, readable)[0]


def _run_directions(
    directions: Sequence[Recurrence], inputs: Tensor, readable: Tensor
) -> Sequence[tuple[Tensor, Tensor]]:
    """The results of one direction or of both, which run at once where that saves kernels."""
    units = [recurrence.unit for recurrence in directions]
    projected = [unit.of_input(inputs) for unit in units]
    first = inputs.new_zeros(inputs.shape[0], units[0].size)
    kind = SCANS.get(type(units[0]))
    reason = why_not_scanned(kind) or why_not_fused(kind, projected[0])
    if len(units) == 2 and kind is not None and inputs.shape[1] and reason is None:
        weights = [[layer.weight for layer in unit.recurrent_layers()] for unit in units]
        return scan_both(kind, projected, first, weights, readable)
    return [
        unit.run(into, first, readable, backwards=recurrence.backwards)
        for recurrence, unit, into in zip(directions, units, projected, strict=True)
    ]


class RecurrentEncoder(nn.Module):
    """One or more layers of recurrence, in one direction or in both: annotations (B, S, width·directions)."""

    def __init__(
        self,
        cell: Cell,
        inputs: int,
        width: int,
        *,
        layers: int = 1,
        bidirectional: bool = True,
        backwards: bool = False,  # if there is one direction
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        directions = (False, True) if bidirectional else (backwards,)
        self.out = width * len(directions)
        self.kind = UNITS[cell]
        self.layers = nn.ModuleList(
            nn.ModuleList(Recurrence(cell, self.out if layer else inputs, width, backwards=b) for b in directions)
            for layer in range(layers)
        )
        self.dropout = make_dropout(dropout)

    def forward(self, inputs: Tensor, readable: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """→ annotations (B, S, out), and each layer's last state (B, parts·out): the forward direction's at the last
        word beside the backward direction's at the first.
        """
        ends = []
        for number, layer in enumerate(self.layers):
            inputs = self.dropout(inputs) if number else inputs
            directions = _run_directions(list(cast(Iterable[Recurrence], layer)), inputs, readable)
            inputs = torch.cat([outputs for outputs, _ in directions], -1)
            parts = [torch.unflatten(last, -1, (self.kind.parts, -1)) for _, last in directions]
            ends.append(torch.cat(parts, -1).flatten(-2))  # [→h; ←h; →c; ←c]: the state of a wider unit
        return inputs, tuple(ends)


class FirstState(nn.Module):
    """A decoder's first state: zero, or tanh(W x) of the encoder's last state x or of the mean of its annotations."""

    def __init__(self, kind: First, size: int, *, last: int, annotation: int) -> None:
        super().__init__()
        self.kind, self.size = kind, size
        if kind != "zero":
            self.of_source = nn.Linear(last if kind == "last" else annotation, size)

    def forward(self, last: Tensor, annotations: Tensor, readable: Tensor) -> Tensor:
        """last (B, ·), annotations (B, S, ·), readable (B, S) → (B, size)"""
        if self.kind == "zero":
            return last.new_zeros(last.shape[0], self.size)
        if self.kind == "mean":
            total = annotations.masked_fill(~readable[..., None], 0.0).sum(1)
            last = total / readable.sum(1, keepdim=True).clamp_min(1)
        return torch.tanh(self.of_source(last))


class Stack(nn.Module):
    """A decoder's units, one above the other, with one state each.

    `first`: the last states of an encoder of the same depth and width, or a FirstState ("mean" or "zero").
    """

    def __init__(
        self, cell: Cell, inputs: int, width: int, *, layers: int, first: First, annotation: int, dropout: float
    ) -> None:
        super().__init__()
        self.units = nn.ModuleList(UNITS[cell](width if layer else inputs, width) for layer in range(layers))
        self.first = None
        if first != "last":
            self.first = FirstState(first, layers * self.lowest.size, last=0, annotation=annotation)
        self.dropout = make_dropout(dropout)

    @property
    def lowest(self) -> RecurrentUnit:
        return cast(RecurrentUnit, self.units[0])

    def start(self, ends: tuple[Tensor, ...], annotations: Tensor, readable: Tensor) -> tuple[Tensor, ...]:
        if self.first is None:
            return ends
        states: Tensor = self.first(ends[-1], annotations, readable)
        return states.chunk(len(self.units), -1)

    def step(self, projected: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """projected (R, ·) by the lowest unit, one state per unit → h of the highest (R, width), the new states"""
        output, moved = projected, []
        for number, (unit, state) in enumerate(zip(cast(Iterable[RecurrentUnit], self.units), states, strict=True)):
            moved.append(unit.advance(unit.of_input(self.dropout(output)) if number else projected, state))
            output = unit.output(moved[-1])
        return output, tuple(moved)

    def forward(self, inputs: Tensor, states: Sequence[Tensor]) -> Tensor:
        """All inputs (B, T, ·) at once → h of the highest (B, T, width)"""
        for number, (unit, state) in enumerate(zip(cast(Iterable[RecurrentUnit], self.units), states, strict=True)):
            inputs, _ = unit.run(unit.of_input(self.dropout(inputs) if number else inputs), state)
        return inputs


class Maxout(nn.Module):
    """Goodfellow 2013, pool of 2: the larger of each pair."""

    def forward(self, pairs: Tensor) -> Tensor:
        return torch.unflatten(pairs, -1, (-1, 2)).amax(-1)


def _find_padded_steps(readable: Tensor) -> list[bool]:
    """Steps without padding are faster. Only a CPU knows them at no cost: a GPU would have to be waited for, and a
    compiler or a CUDA graph serves batches with other padding, too.
    """
    if readable.is_cpu and not torch.compiler.is_compiling():
        padded: list[bool] = (~readable).any(0).tolist()
        return padded
    return [True] * readable.shape[1]


def _init_orthogonal(*recurrent: nn.Linear) -> None:
    """Start with an orthogonal U for each gate, which preserves the length of the state."""
    for linear in recurrent:
        for gate in torch.split(linear.weight.detach(), linear.in_features):
            nn.init.orthogonal_(gate)
