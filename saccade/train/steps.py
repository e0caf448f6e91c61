"""The pieces of one update: loss, optimiser, learning rate, running mean of the weights."""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.data.batching import Batch
from saccade.models import Seq2Seq
from saccade.text import PAD
from saccade.train.recipe import Training


def batch_loss(model: Seq2Seq[object, object], batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
    """Teacher forcing: cross-entropy summed over the target's tokens, smoothed and plain. Always in float32."""
    logits = model(batch.source, batch.source_readable, batch.target_in).float().flatten(0, 1)
    wanted = batch.target_out.flatten()
    plain = F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="sum")
    if not smoothing:
        return plain, plain.detach()
    return F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="sum", label_smoothing=smoothing), plain.detach()


def make_optimiser(how: Training, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """Vectors and scalars (norms, biases) do not decay."""
    parameters = [p for p in parameters if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": how.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    if how.optimiser == "adadelta":
        return torch.optim.Adadelta(groups, lr=how.lr, rho=0.95, eps=1e-6)
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(groups, lr=how.lr, betas=how.betas, eps=1e-9, fused=fused)


def learning_rate(how: Training, step: int, progress: float) -> float:
    """Of the update after `step` updates, when `progress` (0 … 1) of the run's budget is spent."""
    rising = min(1.0, (step + 1) / max(1, how.warmup))
    if how.schedule == "inverse-sqrt":
        return how.lr * min(rising, math.sqrt(max(1, how.warmup) / (step + 1)))
    if how.schedule == "cosine":
        return how.lr * min(rising, 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
    return how.lr * rising


class RunningMean:
    """Of the weights, with decay d: m ← d·m + (1 − d)·w. Young means decay faster, so as not to dwell on the start."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.count = 0
        self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def update(self, model: nn.Module) -> None:
        self.count += 1
        decay = min(self.decay, (1 + self.count) / (10 + self.count))
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                self.weights[name].lerp_(value.detach(), 1 - decay)
            else:
                self.weights[name].copy_(value)


def mean_of(snapshots: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several state dicts."""
    return {
        name: torch.stack([snapshot[name].float() for snapshot in snapshots]).mean(0).to(first.dtype)
        for name, first in snapshots[0].items()
    }


def uses_bf16(precision: str, device: torch.device) -> bool:
    """bf16 where the hardware has it, unless asked otherwise."""
    if precision != "auto":
        return precision == "bf16"
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
