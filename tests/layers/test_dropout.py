import pytest
import torch
import torch.nn.functional as F
from dropout_masks import dropout_mask
from torch import nn

from saccade.layers.dropout import Dropout, make_dropout, why_not_drawn_in_bits
from saccade.models.cho2014 import Config


def test_zero_dropout_is_identity() -> None:
    assert isinstance(make_dropout(0.0), nn.Identity)
    assert make_dropout(0.3).p == 0.3


def test_dropout_of_one_place_overrides_the_general_one() -> None:
    def places(config: Config) -> tuple[float, float, float]:
        return config.at_embedding, config.at_layer, config.at_output

    assert places(Config(dropout=0.3)) == (0.3, 0.3, 0.3)
    assert places(Config(dropout=0.3, embedding_dropout=0.0, output_dropout=0.5)) == (0.0, 0.3, 0.5)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.999999, 1e-9])
def test_the_rate_and_the_mean_are_kept(rate: float) -> None:
    torch.manual_seed(1)
    inputs = torch.ones(301, 333, requires_grad=True)
    outputs = Dropout(rate)(inputs)
    dropped = (outputs == 0).float().mean().item()
    assert dropped == pytest.approx(rate, abs=0.005)
    assert outputs.max().item() == pytest.approx(1 / (1 - min(rate, 1 - 2**-16)), rel=1e-4)
    (gradient,) = torch.autograd.grad(outputs.sum(), inputs)
    assert torch.equal(gradient, outputs.detach())  # the derivative of x∘mask at x = 1


def test_rows_and_columns_are_dropped_independently() -> None:
    """Four numbers share one draw: none of them may follow from the others."""
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(4000, 8)) != 0).float()
    shares = torch.corrcoef(kept.T) - torch.eye(8)
    assert shares.abs().max() < 0.08


def test_a_mask_follows_from_the_random_state() -> None:
    dropout, inputs = Dropout(0.3), torch.randn(7, 5)
    torch.manual_seed(3)
    once, twice = dropout(inputs), dropout(inputs)
    torch.manual_seed(3)
    assert torch.equal(dropout(inputs), once) and not torch.equal(once, twice)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_every_precision_is_kept(dtype: torch.dtype) -> None:
    outputs = Dropout(0.5)(torch.ones(40, 3, dtype=dtype))
    assert outputs.dtype == dtype and set(outputs.flatten().tolist()) == {0.0, 2.0}


def test_nothing_is_dropped_in_evaluation_or_from_nothing() -> None:
    inputs = torch.randn(3, 2)
    assert Dropout(0.5).eval()(inputs) is inputs
    assert Dropout(0.5)(inputs[:0]).shape == (0, 2)


def test_another_device_gives_the_reason() -> None:
    assert why_not_drawn_in_bits(torch.ones(1)) is None
    assert why_not_drawn_in_bits(torch.ones(1, device="meta")) == "the device is meta"


def test_hashed_masks_keep_the_rate_and_are_independent() -> None:
    """Those of the kernels, by the function that the kernels are compared with."""
    torch.manual_seed(1)
    seeds = torch.randint(-(2**63), 2**63 - 1, (4,))
    masks = [dropout_mask(seed, (4000, 16), 0.3) for seed in seeds]
    for mask in masks:
        assert mask.mean() == pytest.approx(1, abs=0.02)
        assert (torch.corrcoef((mask > 0).float().T) - torch.eye(16)).abs().max() < 0.08
    across = torch.corrcoef(torch.stack([(mask > 0).float().flatten() for mask in masks])) - torch.eye(4)
    assert across.abs().max() < 0.02


@pytest.mark.gpu
@pytest.mark.parametrize("width", [48, 256, 2048])
@pytest.mark.parametrize("share", [0.0, 0.25])
def test_fused_relu_equals_plain_with_the_same_mask(width: int, share: float) -> None:
    from saccade.layers.dropout_triton import FusedReluDropout, draw_seed

    torch.manual_seed(1)
    x = torch.randn(2, 301, width, device="cuda").bfloat16().requires_grad_()
    bias, upstream = torch.randn(width, device="cuda").requires_grad_(), torch.randn_like(x)
    seed = draw_seed(x.device) if share else None
    mask = 1.0 if seed is None else dropout_mask(seed, x.shape, share)
    fused, plain = FusedReluDropout.apply(x, bias, seed, share), F.relu(x + bias) * mask
    torch.testing.assert_close(fused.float(), plain, rtol=1e-2, atol=1e-2)
    found = torch.autograd.grad(fused, (x, bias), upstream)
    expected = torch.autograd.grad(plain, (x, bias), upstream.float())
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.float() - theirs.float()).norm() / theirs.float().norm() < 4e-3


@pytest.mark.gpu
@pytest.mark.parametrize("share", [0.0, 0.25])
def test_fused_placing_equals_plain_with_the_same_mask(share: float) -> None:
    from saccade.layers.dropout_triton import FusedPlacing, draw_seed

    torch.manual_seed(1)
    x, places = torch.randn(7, 11, 300, device="cuda").requires_grad_(), torch.randn(1, 11, 300, device="cuda")
    seed = draw_seed(x.device) if share else None
    mask = 1.0 if seed is None else dropout_mask(seed, x.shape, share)
    fused, plain = FusedPlacing.apply(x, 3.0, places, seed, share), (3.0 * x + places) * mask
    torch.testing.assert_close(fused, plain)
    upstream = torch.randn_like(x)
    found, expected = (torch.autograd.grad(outputs, x, upstream) for outputs in (fused, plain))
    torch.testing.assert_close(found, expected)


@pytest.mark.gpu
def test_every_replay_of_a_graph_draws_another_seed() -> None:
    from saccade.layers.dropout_triton import draw_seed

    def replayed() -> list[int]:
        torch.cuda.manual_seed(1)
        return [int(seed) for _ in range(3) if graph.replay() is None]

    draw_seed(torch.device("cuda"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        seed = draw_seed(torch.device("cuda"))
    first = replayed()
    assert len(set(first)) == 3 and replayed() == first
