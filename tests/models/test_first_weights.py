"""The weights a Transformer starts with: small beside what the residuals carry, where a norm follows each sum."""

import pytest
import torch
from torch import nn

from saccade.layers.transformer_block import Biased, Sublayer, Sum
from saccade.models import build_model
from saccade.models.vaswani2017 import Config

SIZES = {"width": 64, "inner": 128, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.0}


def shares_added(place: str) -> list[float]:
    """How much each sublayer adds to its input at the start: ‖f(x)‖ / ‖x‖."""
    torch.manual_seed(1)
    model = build_model("vaswani2017", Config(**SIZES, norm=place, tie="all"), 50, 50)
    shares: list[float] = []

    def measure(module: nn.Module, given: tuple[Sum, object], result: Sum) -> None:
        inputs, function = given[0].total(), given[1]
        assert callable(function)
        added = function(module.norm(inputs) if place == "pre" else inputs)
        added = added.total() if isinstance(added, Biased) else added
        shares.append(float(added.norm() / inputs.norm()))

    for module in model.modules():
        if isinstance(module, Sublayer):
            module.register_forward_hook(measure)
    source = torch.randint(4, 50, (5, 9))
    with torch.no_grad():
        model(source, torch.ones_like(source, dtype=torch.bool), source)
    return shares


def test_post_norm_starts_near_the_identity() -> None:
    shares = shares_added("post")
    assert len(shares) == 3 * 2 + 3 * 3
    assert max(shares) < 0.1
    assert min(shares_added("pre")) > 0.1  # by Xavier's rule


@pytest.mark.parametrize(
    ("place", "kind", "is_small"),
    [("pre", None, False), ("post", None, True), ("pre", "small", True), ("post", "xavier", False)],
)
def test_matrices_are_drawn_as_documented(place: str, kind: str | None, is_small: bool) -> None:
    torch.manual_seed(1)
    model = build_model("vaswani2017", Config(**SIZES, norm=place, first_weights=kind), 50, 50)
    linears = [module for module in model.encoder.modules() if isinstance(module, nn.Linear)]
    assert linears
    for linear in linears:
        xavier = (2 / (linear.in_features + linear.out_features)) ** 0.5
        assert float(linear.weight.detach().std()) == pytest.approx(0.02 if is_small else xavier, rel=0.1)
        if is_small and linear.bias is not None:
            assert not bool(linear.bias.any())
