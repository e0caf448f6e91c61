"""What turns gradients into updates."""

from typing import Any

import torch
from torch import nn

from saccade.models import Seq2Seq
from saccade.train.recipe import Training


def make_optimiser(how: Training, model: nn.Module) -> torch.optim.Optimizer:
    """Of the parameters that are not frozen. Vectors and scalars (norms, biases) do not decay."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if how.optimiser == "muon":
        return _muon_and_adamw(how, model, parameters)
    if how.optimiser == "adadelta":
        return torch.optim.Adadelta(_groups(how, parameters), lr=how.lr, rho=0.95, eps=1e-6)
    if how.optimiser == "sgd":
        momentum = how.momentum or 0.0
        return torch.optim.SGD(_groups(how, parameters), lr=how.lr, momentum=momentum, nesterov=how.nesterov)
    return _adamw(how, parameters)


def _groups(how: Training, parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": how.weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def _adamw(how: Training, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    fused = parameters[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(_groups(how, parameters), lr=how.lr, betas=how.betas, eps=1e-9, fused=fused)


def _muon_and_adamw(how: Training, model: nn.Module, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Muon (Jordan 2024) for hidden matrices, whose updates it makes orthogonal; AdamW for all else. Muon's updates are
    given the size of AdamW's (Liu 2025), so that one rate does for both.
    """
    vocabulary = _of_vocabulary(model)
    hidden = [p for p in parameters if p.dim() == 2 and min(p.shape) > 1 and id(p) not in vocabulary]
    chosen = {id(p) for p in hidden}
    others = [p for p in parameters if id(p) not in chosen]
    parts: list[torch.optim.Optimizer] = []
    if hidden:
        momentum = 0.95 if how.momentum is None else how.momentum
        muon = torch.optim.Muon(
            hidden, lr=how.lr, weight_decay=how.weight_decay, momentum=momentum, adjust_lr_fn="match_rms_adamw"
        )
        parts.append(muon)
    if others:
        parts.append(_adamw(how, others))
    return Several(*parts)


def _of_vocabulary(model: nn.Module) -> set[int]:
    """The ids of parameters with a row a piece of a vocabulary: embeddings, and what scores the target's pieces."""
    target = model.target_size if isinstance(model, Seq2Seq) else None
    return {
        id(parameter)
        for module in model.modules()
        if isinstance(module, nn.Embedding) or (isinstance(module, nn.Linear) and module.out_features == target)
        for parameter in module.parameters()  # not its weight alone, which may be made of several
    }


class Several(torch.optim.Optimizer):
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
