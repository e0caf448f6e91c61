"""The memory network of Cheng 2016: an LSTM that attends to all of its previous states instead of the last one."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention import History, Memory
from saccade.attention.table import build


class Tapes(NamedTuple):
    """All states so far, one row per text."""

    slots: Memory  # the keys are projected from h; the values are [h; c]
    last: Tensor  # h̃ (R, width), what was read before the last state
    history: History | None  # if the attention needs it


class MemoryNetwork(nn.Module):
    """One layer of equations 1 to 4 of `saccade/models/cheng2016.py`."""

    def __init__(self, inputs: int, width: int, *, attention: str = "bahdanau2014", align: int | None = None) -> None:
        super().__init__()
        self.width = width
        self.attention = build(
            attention, query_dim=inputs + width, memory_dim=width, value_dim=2 * width, width=align or width
        )
        if self.attention.context_dim != 2 * width:
            raise ValueError(
                f"attention {attention!r} does not fit: it reads vectors of width {self.attention.context_dim}, but an "
                f"LSTM of width {width} continues with the h and c that it reads; choose one that reads values as they "
                "are, such as bahdanau2014 or luong2015-global-general"
            )
        self.of_input = nn.Linear(inputs, 4 * width)
        self.of_state = nn.Linear(width, 4 * width, bias=False)
        for gate in self.of_state.weight.detach().chunk(4):
            nn.init.orthogonal_(gate)
        nn.init.ones_(self.of_input.bias.detach()[:width])  # the forget gate

    def begin(self, like: Tensor) -> Tapes:
        """Empty tapes, with one row per row of `like` (R, …)"""
        nothing = like.new_zeros(like.shape[0], 0, self.width)
        slots = self.attention.remember(nothing, values=nothing.repeat(1, 1, 2), at=0)
        return Tapes(slots, like.new_zeros(like.shape[0], self.width), None)

    def step(self, x: Tensor, at: int | Tensor, tapes: Tapes) -> tuple[Tensor, Tapes]:
        """x (R, inputs) at positions `at` → h (R, width), the longer tapes"""
        query = torch.cat([x, tapes.last], -1)[:, None]
        reading = self.attention(query, tapes.slots, at=at, history=tapes.history)  # equation 1
        read, cell = reading.context.squeeze(1).chunk(2, -1)  # equation 2: h̃, c̃
        forget, enter, leave, candidate = (self.of_input(x) + self.of_state(read)).chunk(4, -1)  # equation 3
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)  # equation 4
        hidden = torch.sigmoid(leave) * torch.tanh(cell)
        state = torch.cat([hidden, cell], -1)[:, None]
        slot = self.attention.remember(hidden[:, None], values=state, at=at)
        return hidden, Tapes(tapes.slots.extend(slot), read, reading.history)

    def forward(self, inputs: Tensor, readable: Tensor | None = None) -> Tensor:
        """inputs (B, T, inputs) → h (B, T, width). Padding may stand only at the end of a text, where no state that
        counts reads it; h is zero there."""
        tapes, outputs = self.begin(inputs), []
        for t, x in enumerate(inputs.unbind(1)):
            hidden, tapes = self.step(x, t, tapes)
            outputs.append(hidden)
        states = torch.stack(outputs, 1) if outputs else inputs.new_zeros(*inputs.shape[:2], self.width)
        return states if readable is None else states.masked_fill(~readable[..., None], 0.0)
