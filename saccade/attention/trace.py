"""Traces, which record the readings of every attention by name, and the sentences for which nothing is sampled.

Open traces are on a plain module-level stack: a ContextVar would break torch.compile(fullgraph=True).
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
_expected: list[Tensor] = []


class Trace:
    """Weights (R, H, T, S) by the name of the attention; readings step by step are joined along T.

    Without `weights`, it records only the draws of sampled attentions, and fused kernels run as usual.
    """

    version = 1

    def __init__(self, root: nn.Module, *, weights: bool = True) -> None:
        self.weights = weights
        self._names = {id(module): name for name, module in root.named_modules()}
        self._steps: dict[str, list[Tensor]] = {}
        self._draws: dict[str, list[tuple[Tensor, Tensor]]] = {}

    def add(self, attention: nn.Module, reading: Reading) -> None:
        name = self._names.get(id(attention))
        if name is None:
            return
        if self.weights and reading.weights is not None:
            self._steps.setdefault(name, []).append(reading.weights)
        if reading.log_prob is not None and reading.entropy is not None:
            self._draws.setdefault(name, []).append((reading.log_prob, reading.entropy))

    def draws(self) -> dict[str, tuple[Tensor, Tensor]]:
        """The log-probabilities and entropies (R, H, T) of each attention that sampled, by its name."""
        return {
            name: (torch.cat([step[0] for step in steps], 2), torch.cat([step[1] for step in steps], 2))
            for name, steps in self._draws.items()
        }

    def __getitem__(self, name: str) -> Tensor:
        steps = self._steps[name]
        longest = max(step.shape[-1] for step in steps)  # a cache grows from step to step
        return torch.cat([nn.functional.pad(step, (0, longest - step.shape[-1])) for step in steps], 2)

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)


@contextmanager
def traced(root: nn.Module, *, weights: bool = True) -> Iterator[Trace]:
    trace = Trace(root, weights=weights)
    _open.append(trace)
    try:
        yield trace
    finally:
        _open.remove(trace)


def tracing() -> bool:
    return bool(_open)


def tracing_weights() -> bool:
    return any(trace.weights for trace in _open)


@contextmanager
def expecting(rows: Tensor) -> Iterator[None]:
    """In training, let sampled attentions read the sentences `rows` (B,) by the expected value of their draw."""
    _expected.append(rows)
    try:
        yield
    finally:
        _expected.pop()


def expected_rows() -> Tensor | None:
    return _expected[-1] if _expected else None


def record(attention: nn.Module, reading: Reading) -> None:
    for trace in _open:
        trace.add(attention, reading)
