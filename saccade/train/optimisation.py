"""What turns gradients into weights: optimisers, learning rates, precisions, averages, and frozen parameters."""

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.train.training_options import Training
from saccade.uncompiled import UncompiledOptimiser, uncompiled


def build_optimiser(training: Training, model: nn.Module) -> torch.optim.Optimizer:
    """The optimiser of the parameters that are not frozen. Vectors and scalars (norms, biases) do not decay."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups, rate = _groups(training, parameters), training.lr
    if training.optimiser == "muon":
        return _muon_and_adamw(training, model, parameters)
    if training.optimiser == "adadelta":
        return uncompiled(torch.optim.Adadelta)(groups, lr=rate, rho=0.95, eps=1e-6)
    if training.optimiser == "sgd":
        return uncompiled(torch.optim.SGD)(
            groups, lr=rate, momentum=training.momentum or 0.0, nesterov=training.nesterov
        )
    return _adamw(training, parameters)


def _groups(training: Training, parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": training.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def _adamw(training: Training, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    fused = parameters[0].device.type in ("cpu", "cuda")
    groups = _groups(training, parameters)
    return uncompiled(torch.optim.AdamW)(groups, lr=training.lr, betas=training.betas, eps=1e-9, fused=fused)


def _muon_and_adamw(training: Training, model: nn.Module, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Muon (Jordan 2024) for hidden matrices, whose updates it makes orthogonal; AdamW for the rest. Muon's updates
    are scaled to the size of AdamW's (Liu 2025), so that one learning rate serves both."""
    vocabulary = _of_vocabulary(model)
    hidden = {id(p): p for p in parameters if p.dim() == 2 and min(p.shape) > 1 and id(p) not in vocabulary}
    others = [p for p in parameters if id(p) not in hidden]
    parts: list[torch.optim.Optimizer] = []
    if hidden:
        decay, momentum = training.weight_decay, 0.95 if training.momentum is None else training.momentum
        kind, scale = uncompiled(torch.optim.Muon), "match_rms_adamw"
        muon = kind(hidden.values(), training.lr, decay, momentum=momentum, adjust_lr_fn=scale)
        parts.append(muon)
    if others:
        parts.append(_adamw(training, others))
    return CombinedOptimiser(*parts)


def _of_vocabulary(model: nn.Module) -> set[int]:
    """The ids of parameters with one row per token: embeddings, and the layer that scores target tokens."""
    target = model.target_size if isinstance(model, Seq2Seq) else None
    return {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding) or (isinstance(module, nn.Linear) and module.out_features == target)
        for parameter in module.parameters()  # the weight may be composed of several
    }


class CombinedOptimiser(UncompiledOptimiser):
    """Several optimisers of different parameters as one, which shares their groups and states."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})
        self._share()

    def _share(self) -> None:
        groups = iter(self.param_groups)
        for part in self.parts:
            part.state = self.state
            part.param_groups = [next(groups) for _ in part.param_groups]

    def step(self, closure: Any = None) -> Any:
        for part in self.parts:
            part.step()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._share()

    def __getstate__(self) -> dict[str, Any]:  # for copies, too
        return {**super().__getstate__(), "parts": self.parts}


def learning_rate(training: Training, step: int, progress: float, epochs: float = 0.0, falls: int = 0) -> float:
    """The rate after `step` updates and `epochs` epochs, when the share `progress` of the budget is spent and a plateau
    has lowered the rate `falls` times."""
    rising = min(1.0, (step + 1) / max(1, training.warmup))
    if training.schedule == "inverse-sqrt":
        return training.lr * min(rising, math.sqrt(max(1, training.warmup) / (step + 1)))
    if training.schedule == "cosine":
        return training.lr * min(rising, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
    if training.schedule == "linear":
        return training.lr * min(rising, max(1e-4, 1 - progress))
    if training.schedule == "staircase":
        falls = max(0, 1 + math.floor((epochs - training.decay_after) / training.decay_every))
    return training.lr * rising * training.decay**falls


_LEAST_SCALE = 1.0  # of fp16: overflows at larger scales are normal


class Precision:
    def __init__(self, name: str, device: torch.device) -> None:
        if name == "auto":
            name = "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
        if name == "fp16" and device.type not in ("cpu", "cuda"):
            raise UserError(f"train.precision = 'fp16' trains on CUDA and CPU, not on {device}; leave it at 'auto'")
        self.device = device
        self.dtype = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[name]
        self._scaler = torch.amp.GradScaler(device.type, enabled=name == "fp16")  # others are not scaled
        self._scaler.scale(torch.zeros((), device=device))  # creates the scale, which a worker without rows needs

    def autocast(self) -> AbstractContextManager[None]:
        narrow = self.dtype is not torch.float32
        return torch.autocast(self.device.type, self.dtype if narrow else torch.bfloat16, enabled=narrow)

    def backward(self, loss: Tensor) -> None:
        torch.autograd.backward(self._scaler.scale(loss))

    def why_not_asynchronous(self, optimiser: torch.optim.Optimizer) -> str | None:
        """Why the host must wait for the gradients of an update before it is made, or None."""
        if self.device.type != "cuda":
            return f"only a GPU computes beside the host, not {self.device.type}"
        if self._scaler.is_enabled():
            return "fp16 chooses the scale of the next update by the gradients of this one"
        if not isinstance(optimiser, torch.optim.AdamW):
            return "only AdamW can skip an update on the device"
        return None

    def step(
        self, optimiser: torch.optim.Optimizer, parameters: Iterable[nn.Parameter], clip: float | None, loss: Tensor
    ) -> Tensor:
        """Update by the clipped gradients if they and the loss are finite → whether all was well, on the loss's device.

        With fp16, overflowing gradients are normal: the scale is halved and the update skipped."""
        self._scaler.unscale_(optimiser)
        norm = nn.utils.clip_grad_norm_(parameters, clip or math.inf)
        finite = torch.isfinite(loss)
        may_update = finite & torch.isfinite(norm).to(loss.device)
        if self.why_not_asynchronous(optimiser) is None:
            # The fused kernel reads this attribute, which GradScaler sets as well.
            setattr(optimiser, "found_inf", (~may_update).to(norm.device, torch.float32))  # noqa: B010
            optimiser.step()
            return may_update
        if may_update:
            optimiser.step()
        self._scaler.update()
        is_normal = self._scaler.is_enabled() and self._scaler.get_scale() >= _LEAST_SCALE
        return finite if is_normal else may_update

    def state_dict(self) -> dict[str, Any]:
        return self._scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._scaler.load_state_dict(state)


class RunningAverage:
    """The weights' average with decay d: m ← d·m + (1 − d)·w. It decays faster at first, to forget the start."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._count = next(iter(self.weights.values())).new_zeros((), dtype=torch.float64)  # updates so far

    def update(self, model: nn.Module, went_well: Tensor) -> None:
        """`went_well` is 0 or false for an update that was skipped, which changes nothing. It is not read here: the
        device may not know it yet."""
        self._count += went_well
        decay = ((1 + self._count) / (10 + self._count)).clamp_max(self.decay)
        means, values = [], []
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                means.append(self.weights[name])
                values.append(value)
            else:
                self.weights[name].copy_(value)
        differences = torch._foreach_sub(values, means)
        torch._foreach_mul_(differences, ((1 - decay) * went_well).float())
        torch._foreach_add_(means, differences)

    def state_dict(self) -> dict[str, Any]:
        return {"count": int(self._count), "weights": self.weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._count.fill_(state["count"])
        for name, value in state["weights"].items():
            self.weights[name].copy_(value)


def mean_weights(snapshots: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several state dicts; tensors that are equal in all of them (frozen ones) stay equal to the bit."""

    def mean(values: list[Tensor]) -> Tensor:
        first = values[0].float()
        differences = torch.stack([value.float() - first for value in values])
        return (first + differences.mean(0)).to(values[0].dtype)

    return {name: mean([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}


def freeze(model: nn.Module, patterns: tuple[str, ...]) -> int:
    """Freeze the parameters whose names begin with or match one of the patterns → how many numbers are frozen.

    A tensor with several names (tied embeddings) is frozen by any of them.
    """
    named = dict(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        chosen = [name for name in named if name.startswith(f"{pattern}.") or fnmatchcase(name, pattern)]
        if not chosen:
            parts = ", ".join(dict.fromkeys(".".join(name.split(".")[:2]) for name in named))  # two levels deep
            raise UserError(f"train.freeze: no parameter's name begins with or matches {pattern!r}; there are {parts}")
        for name in chosen:
            named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        raise UserError("train.freeze: nothing is left to learn; name fewer parts")
    return sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)
