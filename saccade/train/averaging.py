"""Means of weights: a running one over the updates, and one of the last checks."""

import torch
from torch import Tensor, nn


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
    """The mean of several state dicts; of what is the same in all of them (a frozen part), the same to the bit."""

    def mean(values: list[Tensor]) -> Tensor:
        first = values[0].float()
        differences = torch.stack([value.float() - first for value in values])
        return (first + differences.mean(0)).to(values[0].dtype)

    return {name: mean([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}
