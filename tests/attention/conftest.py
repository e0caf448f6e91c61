import pytest
import torch
from compositions import WIDTH, B, S, T
from torch import Tensor


@pytest.fixture
def numbers() -> tuple[Tensor, Tensor, Tensor]:
    """queries (B, T, D), source (B, S, D), readable (B, S)"""
    generator = torch.Generator().manual_seed(2)
    queries = torch.randn(B, T, WIDTH, dtype=torch.float64, generator=generator)
    source = torch.randn(B, S, WIDTH, dtype=torch.float64, generator=generator)
    readable = torch.ones(B, S, dtype=torch.bool)
    readable[0, 5:] = False
    return queries, source, readable
