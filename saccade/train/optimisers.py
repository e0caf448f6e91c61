"""What turns gradients into updates."""

from typing import Any

import torch
from torch import nn

from saccade.models import Seq2Seq
from saccade.train.recipe import Training


def build_optimiser(training: Training, model: nn.Module) -> torch.optim.Optimizer:
    """Of the parameters that are not frozen. Vectors and scalars (norms, biases) do not decay."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if training.optimiser == "muon":
        return _muon_and_adamw(training, model, parameters)
    if training.optimiser == "adadelta":
        return torch.optim.Adadelta(_groups(training, parameters), lr=training.lr, rho=0.95, eps=1e-6)
    if training.optimiser == "sgd":
        momentum = training.momentum or 0.0
        return torch.optim.SGD(
            _groups(training, parameters), lr=training.lr, momentum=momentum, nesterov=training.nesterov
        )
    return _adamw(training, parameters)


def _groups(training: Training, parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": training.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def _adamw(training: Training, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(_groups(training, parameters), lr=training.lr, betas=training.betas, eps=1e-9, fused=fused)


def _muon_and_adamw(training: Training, model: nn.Module, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Muon (Jordan 2024) for hidden matrices, whose updates it makes orthogonal; AdamW for all else. Muon's updates are
    given the size of AdamW's (Liu 2025), so that one rate does for both.
    """
    vocabulary = _of_vocabulary(model)
    hidden = [p for p in parameters if p.dim() == 2 and min(p.shape) > 1 and id(p) not in vocabulary]
    chosen = {id(p) for p in hidden}
    others = [p for p in parameters if id(p) not in chosen]
    parts: list[torch.optim.Optimizer] = []
    if hidden:
        momentum = 0.95 if training.momentum is None else training.momentum
        muon = torch.optim.Muon(
            hidden,
            lr=training.lr,
            weight_decay=training.weight_decay,
            momentum=momentum,
            adjust_lr_fn="match_rms_adamw",
        )
        parts.append(muon)
    if others:
        parts.append(_adamw(training, others))
    return CombinedOptimiser(*parts)


def _of_vocabulary(model: nn.Module) -> set[int]:
    """The ids of parameters with a row a piece of a vocabulary: embeddings, and what scores the target's pieces."""
    target = model.target_size if isinstance(model, Seq2Seq) else None
    return {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding) or (isinstance(module, nn.Linear) and module.out_features == target)
        for parameter in module.parameters()  # not its weight alone, which may be made of several
    }


class CombinedOptimiser(torch.optim.Optimizer):
    """Several optimisers, each of parameters of its own, as one: their groups and their states are this one's."""

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
