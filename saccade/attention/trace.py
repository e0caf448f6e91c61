"""A trace: every reading made while it is open, by the name of the attention that made it.

Open traces stand on a plain module-level stack: a ContextVar would break torch.compile(fullgraph=True).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from saccade.attention.memory import Reading

_open: list[Trace] = []


class Trace:
    """Weights (R, H, T, S) by the name of the attention; what was read step by step is joined along T."""

    version = 1

    def __init__(self, root: nn.Module) -> None:
        self._names = {id(module): name for name, module in root.named_modules()}
        self._steps: dict[str, list[Tensor]] = {}

    def add(self, attention: nn.Module, reading: Reading) -> None:
        name = self._names.get(id(attention))
        if name is not None and reading.weights is not None:
            self._steps.setdefault(name, []).append(reading.weights)

    def __getitem__(self, name: str) -> Tensor:
        steps = self._steps[name]
        longest = max(step.shape[-1] for step in steps)  # a cache grows from step to step
        return torch.cat([nn.functional.pad(step, (0, longest - step.shape[-1])) for step in steps], 2)

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)


@contextmanager
def traced(root: nn.Module) -> Iterator[Trace]:
    trace = Trace(root)
    _open.append(trace)
    try:
        yield trace
    finally:
        _open.remove(trace)


def tracing() -> bool:
    return bool(_open)


def record(attention: nn.Module, reading: Reading) -> None:
    for trace in _open:
        trace.add(attention, reading)
