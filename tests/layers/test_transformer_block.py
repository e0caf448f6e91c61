from typing import get_args

import pytest
import torch

from saccade.attention import Rotary
from saccade.layers.transformer_block import FeedForward, FeedForwardKind, NormPlace, Site, Sublayer, Sum


@pytest.mark.parametrize("place", get_args(NormPlace))
@pytest.mark.parametrize("residual", [True, False])
def test_sublayer_matches_its_formula(place: NormPlace, residual: bool) -> None:
    torch.manual_seed(1)
    sublayer = Sublayer(4, place=place, kind="layer", residual=residual, dropout=0.0)
    x, norm = torch.randn(2, 3, 4), sublayer.norm
    expected = {
        ("pre", True): x + 2 * norm(x),
        ("pre", False): 2 * norm(x),
        ("post", True): norm(x + 2 * x),
        ("post", False): norm(2 * x),
    }
    torch.testing.assert_close(sublayer(Sum(x), lambda inner: 2 * inner).total(), expected[place, residual])


def test_the_kinds_of_norm() -> None:
    x = torch.tensor([[3.0, 4.0]])
    norms = {
        kind: Sublayer(2, place="pre", kind=kind, residual=False, dropout=0.0)(Sum(x), lambda inner: inner).total()
        for kind in ("layer", "rms", "none")
    }
    torch.testing.assert_close(norms["layer"], torch.tensor([[-1.0, 1.0]]), rtol=0, atol=1e-4)
    torch.testing.assert_close(norms["rms"], x / 12.5**0.5)
    assert torch.equal(norms["none"], x)


def test_gated_feed_forward_matches_its_formula() -> None:
    torch.manual_seed(1)
    network = FeedForward(4, 6, kind="gated", dropout=0.0)
    x = torch.randn(2, 3, 4)
    gate, inner = network.first(x).split(6, -1)
    torch.testing.assert_close(network(x), network.second(gate * torch.sigmoid(gate) * inner))


def test_only_a_convolution_sees_neighbours() -> None:
    torch.manual_seed(1)
    for kind in get_args(FeedForwardKind):
        network = FeedForward(4, 6, kind=kind, dropout=0.0)
        x = torch.randn(1, 5, 4)
        alone = torch.cat([network(x[:, t : t + 1]) for t in range(5)], 1)
        assert torch.allclose(network(x), alone, atol=1e-6) == (kind != "convolution")
        assert network.remembers == (2 if kind == "convolution" else 0)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
def test_causal_convolution_continues_from_previous_inputs(kernel: int) -> None:
    torch.manual_seed(1)
    network = FeedForward(4, 6, kind="convolution", dropout=0.0, kernel=kernel, causal=True)
    x = torch.randn(2, 5, 4)
    recent, steps = torch.zeros(2, kernel - 1, 4), []
    for t in range(5):
        steps.append(network(x[:, t : t + 1], before=recent))
        recent = torch.cat([recent, x[:, t : t + 1]], 1)[:, 1:]
    torch.testing.assert_close(torch.cat(steps, 1), network(x))


def test_site_keeps_the_width_and_rotates_once() -> None:
    wide = Site("luong2015-global-dot", 8, heads=2, dropout=0.0)
    assert wide.attention.context_dim == 8 and wide.attention.heads == 1  # that attention has no heads to give
    site = Site("vaswani2017", 8, heads=2, dropout=0.1, causal=True, rotary=True)
    assert site.attention.window.causal and site.attention.dropout == 0.1
    assert isinstance(site.attention.positions, Rotary) and site.attention.positions.width == 4
    assert Site("su2021", 8, heads=2, dropout=0.0, rotary=True).attention.positions is not None
