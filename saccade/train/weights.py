"""Weights: averaged over updates or validations, loaded from another model, or frozen."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade import model_folder
from saccade.decode import load_vocabularies
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import Vocabularies


class RunningAverage:
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


def mean_weights(snapshots: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several state dicts; of what is the same in all of them (a frozen part), the same to the bit."""

    def mean(values: list[Tensor]) -> Tensor:
        first = values[0].float()
        differences = torch.stack([value.float() - first for value in values])
        return (first + differences.mean(0)).to(values[0].dtype)

    return {name: mean([snapshot[name] for snapshot in snapshots]) for name in snapshots[0]}


def load_weights(model: Seq2Seq[Any, Any], folder: Path, vocabularies: Vocabularies) -> None:
    """Those of the model in `folder`, which must be one of the same sizes and of the same vocabulary."""
    tensors, described = model_folder.load_model(folder)
    if load_vocabularies(folder).hash != vocabularies.hash:
        raise UserError(
            f"train.init_from: the vocabulary of {folder} is not the run's, so that its weights are of other pieces; "
            "set data.vocab_from to it, too"
        )
    expected, found = _kinds(model.state_dict()), _kinds(tensors)
    differing = [name for name in sorted(expected.keys() | found.keys()) if expected.get(name) != found.get(name)]
    if differing:
        name = differing[0]
        others = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise UserError(
            f"train.init_from: the {described.model} of {folder} does not fit the model of this recipe: {name} is "
            f"{found.get(name, 'not there')}, expected {expected.get(name, 'no such tensor')}{others}; "
            f"copy [model] from {folder / 'recipe.toml'}"
        )
    model.load_state_dict(tensors)


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    return {name: f"{tuple(tensor.shape)} of {tensor.dtype}" for name, tensor in tensors.items()}


def freeze(model: nn.Module, patterns: tuple[str, ...]) -> int:
    """Parameters whose names begin with, or match, one of the patterns no longer learn: how many numbers that are.

    A tensor of several names (tied embeddings) is frozen by any of them.
    """
    named = dict(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        chosen = [name for name in named if name.startswith(f"{pattern}.") or fnmatchcase(name, pattern)]
        if not chosen:
            raise UserError(
                f"train.freeze: no parameter's name begins with or matches {pattern!r}; there are {_listed(named)}"
            )
        for name in chosen:
            named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        raise UserError("train.freeze: nothing is left to learn; name fewer parts")
    return sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)


def _listed(named: dict[str, nn.Parameter]) -> str:
    """The parts, to a depth of two."""
    return ", ".join(dict.fromkeys(".".join(name.split(".")[:2]) for name in named))
