"""In which numbers a model is trained: fp32, bf16, or fp16 with its loss scaled up against underflow."""

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from saccade.errors import UserError

_LEAST_SCALE = 1.0  # of fp16: overflows down to it are a matter of course


class Precision:
    def __init__(self, name: str, device: torch.device) -> None:
        if name == "auto":
            name = "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
        if name == "fp16" and device.type not in ("cpu", "cuda"):
            raise UserError(f"train.precision = 'fp16' trains on CUDA and CPU, not on {device}; leave it at 'auto'")
        self.device = device
        self.dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[name]
        self._scaler = torch.amp.GradScaler(device.type) if name == "fp16" else None
        if self._scaler is not None:
            self._scaler.scale(torch.zeros((), device=device))  # which makes its scale: a worker without rows needs it

    def autocast(self) -> AbstractContextManager[None]:
        narrow = self.dtype is not torch.float32
        return torch.autocast(self.device.type, self.dtype if narrow else torch.bfloat16, enabled=narrow)

    def backward(self, loss: Tensor) -> None:
        torch.autograd.backward(loss if self._scaler is None else self._scaler.scale(loss))

    def step(
        self, optimiser: torch.optim.Optimizer, parameters: Iterable[nn.Parameter], clip: float | None, *, finite: bool
    ) -> bool:
        """One update by the gradients, clipped, if `finite` and they are finite too; whether all went well.

        With fp16, gradients that overflow are a matter of course: the scale is halved, the update left out."""
        if self._scaler is not None:
            self._scaler.unscale_(optimiser)
        norm = nn.utils.clip_grad_norm_(parameters, clip or math.inf)
        overflowed = not bool(torch.isfinite(norm))
        if finite and not overflowed:
            optimiser.step()
        if self._scaler is None:
            return finite and not overflowed
        self._scaler.update()
        return finite and (not overflowed or self._scaler.get_scale() >= _LEAST_SCALE)

    def state(self) -> dict[str, Any]:
        return {} if self._scaler is None else self._scaler.state_dict()

    def restore(self, state: dict[str, Any]) -> None:
        if self._scaler is not None:
            self._scaler.load_state_dict(state)
