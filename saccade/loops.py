"""What the steps of a decoder's loop share in training, and the gradients of that: computed once, after all steps.

A part that every step applies reads the same tensors each time, such as its weights or the keys of a memory. Were they
read through autograd, each step would add its gradient to theirs. Instead, each step reads a slot: a part of zeros
without memory, whose gradient is what the step contributes. After all steps, the shared tensors get theirs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Shared = TypeVar("Shared")
_open: list["Loop"] = []


class Loop:
    """A loop of a known number of steps, while it is open."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self._shared: dict[object, Any] = {}

    def __enter__(self) -> "Loop":
        _open.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _open.remove(self)

    def share(self, part: object, make: Callable[[], Shared]) -> Shared:
        """What all steps of a part share, made at the first of them."""
        if part not in self._shared:
            self._shared[part] = make()
        return cast(Shared, self._shared[part])

    def find(self, part: object) -> object | None:
        """What the steps of a part share, if there was one."""
        return self._shared.get(part)


def current_loop() -> Loop | None:
    """The innermost loop that is open, if gradients are wanted."""
    return _open[-1] if _open and torch.is_grad_enabled() else None


class StepRecord(ABC):
    """What the steps of a part leave for the gradients of the tensors that they share. All of it is detached: it is
    kept by a node that it would itself depend on, which would never be freed.
    """

    @abstractmethod
    def of_shared(self, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the shared tensors, from those (steps, …) of all slots of each kind"""


def make_slots(
    record: StepRecord,
    shared: Sequence[Tensor | None],
    kinds: Sequence[tuple[tuple[int, ...], torch.dtype]],  # shape (steps, …) and type of each kind of slot
) -> list[tuple[Tensor, ...]]:
    """One slot of each kind per step; the last is that of the first step."""
    every = cast(tuple[Tensor, ...], _Slots.apply(record, kinds, *shared))  # type: ignore[no-untyped-call]
    return list(reversed(list(zip(*(slots.unbind() for slots in every), strict=True))))


class _Slots(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, record: StepRecord, kinds: Sequence[tuple[tuple[int, ...], torch.dtype]], *shared: Tensor | None
    ) -> tuple[Tensor, ...]:
        ctx.record = record
        device = next(tensor.device for tensor in shared if tensor is not None)
        return tuple(torch.zeros((), dtype=dtype, device=device).expand(shape) for shape, dtype in kinds)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.record.of_shared(*gradients)
