"""Positions: without them attention is blind to order. Two are added to the inputs; rotary rotates queries and keys."""

import torch
from torch import Tensor, nn


def _angles(at: Tensor, width: int, base: float) -> Tensor:
    """(…, ⌈width/2⌉): position over base^(2i/width)"""
    wide = torch.float32 if at.device.type == "mps" else torch.float64  # float32 is 7e-6 off at position 5000
    pairs = torch.arange(0, width, 2, device=at.device, dtype=wide)
    return at[..., None] * base ** (-pairs / width)


class Sinusoidal(nn.Module):
    """Vaswani 2017: PE(t, 2i) = sin(t/10000^(2i/d)), PE(t, 2i+1) = cos of the same; no table, so no longest length."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, inputs: Tensor, at: Tensor) -> Tensor:
        """inputs (B, T, width) at positions (B or 1, T)"""
        return inputs + self.waves(at).to(inputs.dtype)

    def waves(self, at: Tensor) -> Tensor:
        """(B or 1, T, width)"""
        if at.stride(0) == 0:  # all rows are at the same positions
            at = at[:1]
        angles = _angles(at, self.width, 10000.0)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., : self.width]


class Learned(nn.Module):
    """Gehring 2017: one vector per position, up to a longest length."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.table = nn.Embedding(longest, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    def forward(self, inputs: Tensor, at: Tensor) -> Tensor:
        # Positions beyond the table share its last vector: a longer sentence is read less well, but it is read.
        place: Tensor = self.table(at.clamp_max(self.table.num_embeddings - 1))
        return inputs + place.to(inputs.dtype)


class Rotary(nn.Module):
    """Su 2021: pairs of features are rotated by an angle that grows with position, so q·k depends on the distance."""

    name = "rotary"

    def __init__(self, head_width: int, base: float = 10000.0) -> None:
        super().__init__()
        if head_width % 2:
            raise ValueError(f"rotary rotates pairs of features: the width of a head must be even, got {head_width}")
        self.width, self.base = head_width, base

    def forward(self, by_head: Tensor, at: Tensor) -> Tensor:
        """by_head (R, H, T, d) at positions (R or 1, T)"""
        angles = _angles(at, self.width, self.base)[:, None]  # (R or 1, 1, T, d/2)
        cos, sin = angles.cos().to(by_head.dtype), angles.sin().to(by_head.dtype)
        first, second = torch.unflatten(by_head, -1, (-1, 2)).unbind(-1)
        return torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)
