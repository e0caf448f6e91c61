"""A read never waits for the device, also where long memories are read in another way than short ones."""

import pytest
import torch
from compositions import COMPOSITIONS, WIDTH

from saccade.attention import Graph


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("length", [9, 500])
def test_reading_needs_no_number_from_the_device(name: str, length: int) -> None:
    attention = COMPOSITIONS[name]().to("meta").train()
    if isinstance(attention.window, Graph) and length > attention.window.adjacency.shape[-1]:
        length = attention.window.adjacency.shape[-1]
    source = torch.empty(2, length, WIDTH, device="meta", requires_grad=True)
    queries = torch.empty(2, 70 if not attention.needs_history else 3, WIDTH, device="meta", requires_grad=True)
    memory = attention.remember(source, torch.empty(2, length, dtype=torch.bool, device="meta"))
    attention(queries, memory).context.sum().backward()
    assert source.grad is not None
