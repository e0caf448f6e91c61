"""The longest chain of dependent operations, on computations whose chains are known."""

import pytest
import torch

from saccade.layers.recurrent import RecurrentEncoder
from saccade.study.chains import DependencyChain


def test_each_operation_on_the_last_result_is_a_link() -> None:
    x = torch.ones(3)
    with DependencyChain() as chain:
        for _ in range(5):
            x = torch.tanh(x)
    assert chain.length == 5


def test_independent_operations_do_not_wait_for_each_other() -> None:
    x = torch.ones(3)
    with DependencyChain() as chain:
        torch.stack([x.exp(), x.tanh(), x.sin()])
    assert chain.length == 2


def test_a_view_costs_nothing() -> None:
    x = torch.ones(2, 3)
    with DependencyChain() as chain:
        x.exp().view(3, 2).transpose(0, 1)[0].exp()
    assert chain.length == 2


def test_writing_in_place_is_an_operation() -> None:
    x, total = torch.ones(3), torch.zeros(3)
    with DependencyChain() as chain:
        for _ in range(4):
            total += x
    assert chain.length == 4


def test_the_backward_pass_continues_the_chain() -> None:
    x = torch.ones(3, requires_grad=True)
    with DependencyChain() as chain:
        loss = x.exp().tanh().sum()
        forward = chain.length
        loss.backward()
    assert forward == 3 and chain.length > forward


@pytest.mark.parametrize("length", [4, 8])
def test_a_recurrence_is_as_long_as_its_sentence(length: int) -> None:
    encoder, readable = RecurrentEncoder("tanh", 4, 4, bidirectional=False), torch.ones(1, length, dtype=torch.bool)
    with DependencyChain() as chain, torch.no_grad():
        encoder(torch.randn(1, length, 4), readable)
    assert chain.length >= 2 * length  # a product and tanh for each word
