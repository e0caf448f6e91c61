"""What the Transformer does beyond the laws and the equations."""

import torch
from model_cases import Case, build

from saccade.attention import Rotary


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
