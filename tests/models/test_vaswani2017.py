"""What the Transformer does beyond the laws and the equations."""

from typing import Any

import pytest
import torch
from model_cases import Case, build, sentences
from torch import Tensor

from saccade.attention import Rotary, short
from saccade.layers import transformer_block
from saccade.models import MODELS


def test_rotary_positions_rotate_self_attention_only() -> None:
    """Source and target have no common places: a distance between them would mean nothing."""
    model = build(Case("vaswani2017", {"positions": "rotary"}))
    layer = model.decoder[0]
    sites = {"encoder": model.encoder[0].attention, "decoder": layer.attention, "cross": layer.cross}
    turned = {name: isinstance(site.attention.positions, Rotary) for name, site in sites.items()}
    assert turned == {"encoder": True, "decoder": True, "cross": False} and model.positions is None
    memory, query = layer.cross.attention.remember(torch.randn(1, 5, 8).double()), torch.randn(1, 1, 8).double()
    early, late = (layer.cross.attention(query, memory, at=at).context for at in (0, 7))
    assert torch.equal(early, late)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_stochastic_depth_changes_training_alone(norm: str) -> None:
    whole, dropping = (
        build(Case("vaswani2017", {"norm": norm, "dropout": 0.0, "stochastic_depth": share})) for share in (0.0, 0.5)
    )
    expected = whole(*sentences())
    assert torch.equal(dropping(*sentences()), expected)
    dropping.train()
    torch.manual_seed(1)
    outcomes = torch.stack([dropping(*sentences()) for _ in range(20)])
    assert outcomes.isfinite().all() and len(outcomes.unique(dim=0)) > 5


@pytest.mark.gpu
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(("length", "stochastic_depth"), [(30, 0.0), (130, 0.0), (30, 0.5)])
def test_fused_training_equals_the_plain_path(
    norm: str, length: int, stochastic_depth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without dropout; its masks are compared in tests/layers."""
    kind = MODELS["vaswani2017"]
    config: Any = kind.config_type(
        width=64,
        inner=128,
        heads=2,
        encoder_layers=2,
        decoder_layers=2,
        norm=norm,
        dropout=0.0,
        stochastic_depth=stochastic_depth,
    )
    torch.manual_seed(1)
    model = kind(config, 50, 50).cuda()
    source, target = (torch.randint(4, 50, (6, size), device="cuda") for size in (length, length - 3))
    lengths = torch.tensor([length, length, 5, length // 2, 1, 7], device="cuda")
    readable = torch.arange(length, device="cuda") < lengths[:, None]

    def outcomes() -> list[Tensor]:
        torch.manual_seed(2)
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(source, readable, target)
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), target.flatten())
        return [logits.float(), *torch.autograd.grad(loss, list(model.parameters()))]

    fused = outcomes()
    for name in ("why_not_short", "why_not_one_product"):
        monkeypatch.setattr(short, name, lambda *parts: "the test")
    monkeypatch.setattr(transformer_block, "why_not_together", lambda x: "the test")
    for ours, expected in zip(fused, outcomes(), strict=True):
        assert (ours - expected).norm() <= 5e-2 * expected.norm() + 1e-5
