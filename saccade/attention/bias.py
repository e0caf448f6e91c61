"""Biases: terms that the distance between query and slot adds to the score."""

import math

import torch
from torch import Tensor, nn

from saccade.attention.heads import grouped_matmul
from saccade.attention.part import Part


class Bias(Part):
    """(B or 1, H, Q, S) to add, for queries (B, H, Q, d) at (B or 1, Q) and slots at (B or 1, S).

    A bias that depends on positions alone is one elementwise `rule`; dense biases and FlexAttention both call it.
    """

    elementwise = True

    def rule(self, head: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} must define rule(head, query_at, key_at)")

    def forward(self, queries: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        assert self.heads is not None
        head = torch.arange(self.heads, device=query_at.device)[:, None, None]
        return self.rule(head, query_at[:, None, :, None], key_at[:, None, None, :])


class ALiBi(Bias):
    """Press 2022: a fixed slope per head, −m·|i − j| with m = 2^(−8h/H), h = 1 … H."""

    name = "ALiBi"
    formula = "− m |i − j|"

    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.register_buffer("slopes", 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads), persistent=False)

    def rule(self, head: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return -self.slopes[head] * (query_at - key_at).abs()


class Buckets(Bias):
    """T5 (Raffel 2020): one learned number per head and bucket of distances. Short distances have a bucket each, long
    ones share buckets of logarithmic size up to `farthest`. Half of the buckets are for slots after the query.
    """

    name = "T5 buckets"
    formula = "+ b[bucket(j − i)]"

    def __init__(self, heads: int, *, buckets: int = 32, farthest: int = 128, both_sides: bool = True) -> None:
        super().__init__()
        self.heads, self.buckets, self.farthest, self.both_sides = heads, buckets, farthest, both_sides
        self.table = nn.Parameter(torch.randn(heads, buckets) * 0.02)

    def bucket(self, ahead: Tensor) -> Tensor:
        """The bucket of a distance j − i."""
        count = self.buckets // 2 if self.both_sides else self.buckets
        distance = ahead.abs() if self.both_sides else (-ahead).clamp_min(0)
        exact = count // 2
        growth = (distance.clamp_min(1) / exact).log() / math.log(self.farthest / exact)
        far = (exact + (growth * (count - exact)).long()).clamp_max(count - 1)
        bucket = torch.where(distance < exact, distance, far)
        return bucket + count * (ahead > 0) if self.both_sides else bucket

    def rule(self, head: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return self.table[head, self.bucket(key_at - query_at)]


class RelativeKeys(Bias):
    """Shaw 2018: each clipped distance has a vector that is added to the key, q·(k + a_ij)/√d. This is q·a_ij/√d."""

    name = "Shaw keys"
    formula = "+ q·a[clip(j − i)] / √d"
    elementwise = False

    def __init__(self, heads: int, head_width: int, *, clip: int = 16) -> None:
        super().__init__()
        self.heads, self.width, self.clip = heads, head_width, clip
        self.vectors = nn.Parameter(torch.randn(2 * clip + 1, head_width) / math.sqrt(head_width))

    def forward(self, queries: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        products = grouped_matmul(queries, self.vectors.T[None, None]) / math.sqrt(queries.shape[-1])  # (B, H, Q, 2c+1)
        ahead = (key_at[:, None, :] - query_at[:, :, None]).clamp(-self.clip, self.clip) + self.clip  # (B or 1, Q, S)
        return products.gather(-1, ahead[:, None].expand(*products.shape[:2], -1, -1))
