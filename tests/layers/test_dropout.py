import pytest
import torch
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
