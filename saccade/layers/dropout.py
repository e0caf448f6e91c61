from torch import nn


def make_dropout(share: float) -> nn.Module:
    """Dropout; of nothing, nothing at all: torch's would still draw a mask at every call."""
    return nn.Dropout(share) if share else nn.Identity()
