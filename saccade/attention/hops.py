"""Structured self-attention: several learned queries read one sentence (Lin 2017)."""

import math

import torch
from torch import Tensor, nn

from saccade.attention.attention import Attention
from saccade.attention.memory import Reading
from saccade.attention.scores import Dot


class MultiHopAttention(nn.Module):
    """A = softmax(W₂ tanh(W₁ Hᵀ)), M = A H: hop i is the learned query W₂[i], and the keys are tanh(W₁ h).

    The context (B, hops, memory_dim) is the matrix sentence embedding M.
    """

    def __init__(self, *, memory_dim: int, width: int = 350, hops: int = 30) -> None:
        super().__init__()
        self.of_keys = nn.Linear(memory_dim, width, bias=False)
        self.queries = nn.Parameter(torch.empty(hops, width).uniform_(-1, 1) / math.sqrt(width))
        self.attention = Attention(query_dim=width, memory_dim=width, value_dim=memory_dim, score=Dot())

    def forward(self, source: Tensor, readable: Tensor | None = None, *, weights: bool = True) -> Reading:
        """source (B, S, memory_dim)"""
        if readable is not None:  # before the projection, whose gradient a NaN in padding would spoil
            source = source.masked_fill(~readable[..., None], 0.0)
        memory = self.attention.remember(torch.tanh(self.of_keys(source)), readable, values=source)
        reading: Reading = self.attention(self.queries.expand(source.shape[0], -1, -1), memory, weights=weights)
        return reading


def hop_penalty(weights: Tensor) -> Tensor:
    """‖A Aᵀ − I‖² per sentence (B,), for weights (B, 1, hops, S): small when hops read different places."""
    hops = weights.squeeze(1)
    overlap = hops @ hops.transpose(1, 2)
    return (overlap - torch.eye(hops.shape[1], dtype=hops.dtype, device=hops.device)).square().sum((1, 2))
