"""Recurrent units written step by step, and the run of one over a padded sentence."""

from typing import cast

import torch
from torch import Tensor, nn

from saccade.layers.dropout import make_dropout


class GatedUnit(nn.Module):
    """The GRU of Cho 2014, which resets the state *before* the recurrent product (torch's GRU resets after it):

        r = σ(W_r x + U_r h₋₁)    z = σ(W_z x + U_z h₋₁)
        h̃ = tanh(W x + U (r∘h₋₁))    h = z∘h₋₁ + (1 − z)∘h̃

    Inputs come projected, so that a whole sentence's are projected in one product: `unit(unit.of_input(x), h)`.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.of_input = nn.Linear(inputs, 3 * width)
        self.of_gates = nn.Linear(width, 2 * width, bias=False)
        self.of_candidate = nn.Linear(width, width, bias=False)
        for recurrent in (*self.of_gates.weight.detach().chunk(2), self.of_candidate.weight.detach()):
            nn.init.orthogonal_(recurrent)

    def forward(self, projected: Tensor, state: Tensor) -> Tensor:
        """projected (B, 3·width), state (B, width) → state"""
        of_gates, of_candidate = torch.split(projected, [2 * self.width, self.width], -1)
        reset, update = torch.sigmoid(of_gates + self.of_gates(state)).chunk(2, -1)
        candidate = torch.tanh(of_candidate + self.of_candidate(reset * state))
        return torch.addcmul(candidate, update, state - candidate)  # not lerp: under autocast the state stays wide


class Recurrence(nn.Module):
    """A unit run over a sentence, forwards or backwards. Padding leaves the state as it was."""

    def __init__(self, inputs: int, width: int, *, backwards: bool = False) -> None:
        super().__init__()
        self.unit = GatedUnit(inputs, width)
        self.backwards = backwards

    def forward(self, inputs: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
        """inputs (B, S, ·), readable (B, S) → states (B, S, width), the last of them (B, width)"""
        steps = self.unit.of_input(inputs).unbind(1)
        keep = readable[..., None].unbind(1)
        # Most steps have no padding, and need no choice; a compiler cannot look, and chooses always.
        padded = [True] * len(steps) if torch.compiler.is_compiling() else (~readable).any(0).tolist()
        state = inputs.new_zeros(inputs.shape[0], self.unit.width)
        states = [state] * len(steps)
        order = range(len(steps))
        for s in reversed(order) if self.backwards else order:
            new = self.unit(steps[s], state)
            state = torch.where(keep[s], new, state) if padded[s] else new
            states[s] = state
        return torch.stack(states, 1) if states else inputs.new_zeros(*inputs.shape[:2], self.unit.width), state


class RecurrentEncoder(nn.Module):
    """One or more layers of recurrence, in one direction or in both: annotations (B, S, width·directions)."""

    def __init__(
        self, inputs: int, width: int, *, layers: int = 1, bidirectional: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        directions = (False, True) if bidirectional else (False,)
        self.out = width * len(directions)
        self.layers = nn.ModuleList(
            nn.ModuleList(Recurrence(self.out if layer else inputs, width, backwards=b) for b in directions)
            for layer in range(layers)
        )
        self.dropout = make_dropout(dropout)

    def forward(self, inputs: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
        """→ annotations (B, S, out), the last state of the last direction (B, width): bidirectional, that is the
        backward state at the first word; else the forward state at the last.
        """
        last = inputs
        for number, layer in enumerate(self.layers):
            inputs = self.dropout(inputs) if number else inputs
            directions = [recurrence(inputs, readable) for recurrence in cast(nn.ModuleList, layer)]
            inputs = torch.cat([states for states, _ in directions], -1)
            last = directions[-1][1]
        return inputs, last


class Maxout(nn.Module):
    """Goodfellow 2013, pool of 2: the larger of each pair."""

    def forward(self, pairs: Tensor) -> Tensor:
        return torch.unflatten(pairs, -1, (-1, 2)).amax(-1)
