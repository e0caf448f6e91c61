"""Optimisers below the marks for torch.compile compute what torch's own compute, and do not import the compiler."""

from typing import Any

import pytest
import torch
from torch import nn

from saccade.uncompiled import uncompiled

OPTIMISERS: list[tuple[type[torch.optim.Optimizer], dict[str, Any]]] = [
    (torch.optim.AdamW, {"lr": 0.01, "fused": True}),
    (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
    (torch.optim.Adadelta, {"lr": 1.0}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (torch.optim.Muon, {"lr": 0.01}),
]


def train(kind: type[torch.optim.Optimizer], options: dict[str, Any]) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Three updates, with a saved and restored state after the first."""
    torch.manual_seed(1)
    model = nn.Linear(4, 3, bias=False)
    inputs, optimiser = torch.randn(8, 4), kind(model.parameters(), **options)
    for step in range(3):
        model(inputs).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()
        if step == 0:
            saved = optimiser.state_dict()
            optimiser = kind(model.parameters(), **options)
            optimiser.load_state_dict(saved)
    return model, optimiser


@pytest.mark.parametrize(("kind", "options"), OPTIMISERS)
def test_weights_and_states_are_the_same_to_the_bit(kind: type[torch.optim.Optimizer], options: dict[str, Any]) -> None:
    (expected, theirs), (model, ours) = train(kind, options), train(uncompiled(kind), options)
    assert isinstance(ours, kind) and torch.equal(model.weight, expected.weight)
    assert all(p.grad is None for p in model.parameters())
    (state,), (expected_state,) = ours.state_dict()["state"].values(), theirs.state_dict()["state"].values()
    assert state.keys() == expected_state.keys()
    assert all(torch.equal(torch.as_tensor(state[name]), torch.as_tensor(expected_state[name])) for name in state)
