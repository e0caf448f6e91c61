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


def leaving_out(share: float, place: NormPlace = "pre", residual: bool = True) -> Sublayer:
    return Sublayer(4, place=place, kind="none", residual=residual, dropout=0.0, stochastic_depth=share)


def test_stochastic_depth_leaves_out_a_function_and_preserves_the_mean() -> None:
    torch.manual_seed(1)
    sublayer, x = leaving_out(0.25), torch.randn(2, 3, 4)
    draws = torch.stack([sublayer(Sum(x), lambda inner: inner + 1).total() for _ in range(2000)])
    left_out = (draws == x).flatten(1).all(1)
    torch.testing.assert_close(draws[~left_out], (x + (x + 1) / 0.75).expand(int((~left_out).sum()), -1, -1, -1))
    assert 0.22 < float(left_out.float().mean()) < 0.28
    torch.testing.assert_close(draws.mean(0), x + x + 1, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("place", get_args(NormPlace))
@pytest.mark.parametrize(("training", "residual"), [(False, True), (True, False)])
def test_stochastic_depth_is_for_training_with_residuals(place: NormPlace, training: bool, residual: bool) -> None:
    """Without a residual, nothing would be left of the input."""
    x = torch.randn(2, 3, 4)
    expected = leaving_out(0.0, place, residual)(Sum(x), torch.sin).total()
    state = torch.get_rng_state()
    sublayer = leaving_out(0.9, place, residual).train(training)
    assert torch.equal(sublayer(Sum(x), torch.sin).total(), expected)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_function_that_is_left_out_has_no_gradient() -> None:
    torch.manual_seed(1)
    sublayer, network = leaving_out(0.5), FeedForward(4, 6, kind="relu", dropout=0.0)
    gradients = []
    for _ in range(20):
        outputs = sublayer(Sum(torch.ones(1, 1, 4)), network.without_bias).total()
        (gradient,) = torch.autograd.grad(outputs.sum(), network.second.bias)
        gradients.append(gradient.tolist())
    assert sorted({tuple(gradient) for gradient in gradients}) == [(0.0,) * 4, (2.0,) * 4]


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
