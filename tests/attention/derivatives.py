"""Autograd's gradients against central differences of a function of numpy arrays, along random directions."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn
from transcriptions import Array

STEP = 1e-6


def randomise(module: nn.Module, seed: int = 0) -> None:
    """Every parameter, so that no start at zero hides a term."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.copy_(0.7 * noise)


def named(module: nn.Module, letters: Mapping[str, str]) -> dict[str, Tensor]:
    """The module's parameters by the paper's letters, which must name every one of them."""
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    assert sorted(letters.values()) == sorted(parameters)
    return {letter: parameters[name] for letter, name in letters.items()}


def arrays(tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    """Without the axes of one head, one channel, one output."""
    return {name: tensor.detach().numpy().squeeze().astype(np.float64) for name, tensor in tensors.items()}


def assert_gradients(
    gradients: Mapping[str, Array],
    function: Callable[[Mapping[str, Array]], float],
    at: Mapping[str, Array],
    *,
    directions: int = 2,
    tolerance: float = 1e-6,
) -> None:
    """d function / d at[name], along `directions` random unit vectors of each."""
    assert gradients.keys() == at.keys()
    generator = np.random.default_rng(7)
    for name, gradient in gradients.items():
        for _ in range(directions):
            direction = generator.standard_normal(at[name].shape)
            direction /= np.sqrt((direction**2).sum())
            ahead = function({**at, name: at[name] + STEP * direction})
            behind = function({**at, name: at[name] - STEP * direction})
            expected = (ahead - behind) / (2 * STEP)
            found = float((gradient * direction).sum())
            assert abs(found - expected) <= tolerance * max(1.0, abs(expected)), (name, found, expected)
