"""Half precision: training runs under autocast, and comes near to what float32 gives."""

from dataclasses import replace

import pytest
import torch

from saccade.models import ALL_MODELS


@pytest.mark.parametrize("name", ALL_MODELS)
def test_bfloat16_autocast_trains(name: str) -> None:
    torch.manual_seed(1)
    model = ALL_MODELS[name](replace(ALL_MODELS[name].PRESETS["tiny"], dropout=0.0), 11, 11)
    source, target = torch.randint(4, 11, (2, 5)), torch.randint(4, 11, (2, 4))
    readable = torch.ones_like(source, dtype=torch.bool)
    readable[0, 3:] = False
    exact = model(source, readable, target)
    with torch.autocast("cpu", torch.bfloat16):
        near = model(source, readable, target)
    near.float().logsumexp(-1).sum().backward()
    assert (near.float() - exact).norm() / exact.norm() < 0.05
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("name", ALL_MODELS)
def test_weights_in_float16_give_nearly_the_same(name: str) -> None:
    """A search on a GPU has such weights."""
    torch.manual_seed(1)
    model = ALL_MODELS[name](replace(ALL_MODELS[name].PRESETS["tiny"], dropout=0.0), 11, 11).eval()
    source, target = torch.randint(4, 11, (2, 5)), torch.randint(4, 11, (2, 4))
    readable = torch.ones_like(source, dtype=torch.bool)
    readable[0, 3:] = False
    with torch.no_grad():
        exact = model(source, readable, target)
        near = model.half()(source, readable, target)
    assert (near.float() - exact).norm() / exact.norm() < 0.05
