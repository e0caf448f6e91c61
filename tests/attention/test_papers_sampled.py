"""Attentions that draw one slot: Xu 2015 (REINFORCE) and Jang 2017 (Gumbel, straight through)."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from derivatives import arrays, assert_gradients, named, randomise
from torch import Tensor
from transcriptions import Array, bahdanau2014, jang2017

from saccade.attention import Attention, papers

B, T, S, WIDTH = 3, 4, 5, 4
READABLE = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0]], dtype=bool)
LETTERS = {"W_a": "of_queries.weight", "U_a": "of_keys.weight", "v_a": "score.v"}


def _ready(attention: Attention) -> tuple[Attention, Tensor, Tensor]:
    attention = attention.double().train()
    randomise(attention)
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(B, T, 3, generator=generator, dtype=torch.float64)
    source = torch.randn(B, S, 2, generator=generator, dtype=torch.float64)
    return attention, queries, source


def test_xu2015_samples_one_readable_slot_and_gives_its_log_probability() -> None:
    attention, queries, source = _ready(papers.xu2015(query_dim=3, memory_dim=2, width=WIDTH))
    torch.manual_seed(2)
    reading = attention(queries, attention.remember(source, torch.from_numpy(READABLE)), weights=True)
    weights, log_prob = reading.weights.numpy(), reading.log_prob.detach().numpy()
    _, pi = bahdanau2014(queries.numpy(), source.numpy(), READABLE, arrays(named(attention, LETTERS)))
    assert set(np.unique(weights)) == {0.0, 1.0}
    for b in range(B):
        for i in range(T):
            (j,) = np.flatnonzero(weights[b, 0, i])
            assert READABLE[b, j]
            assert log_prob[b, 0, i] == pytest.approx(np.log(pi[b, 0, i, j]), abs=1e-10)
            np.testing.assert_array_equal(reading.context[b, i].numpy(), source[b, j].numpy())


def test_xu2015_samples_in_training_only() -> None:
    attention, queries, source = _ready(papers.xu2015(query_dim=3, memory_dim=2, width=WIDTH))
    memory = attention.remember(source)
    torch.manual_seed(2)
    assert not torch.equal(attention(queries, memory).context, attention(queries, memory).context)
    attention.eval()
    assert torch.equal(attention(queries, memory).context, attention(queries, memory).context)


DRAWS = 100_000


def test_xu2015_samples_with_the_softmax_probabilities() -> None:
    attention, queries, source = _ready(papers.xu2015(query_dim=3, memory_dim=2, width=WIDTH))
    memory = attention.remember(source[2:], torch.from_numpy(READABLE[2:]))
    torch.manual_seed(3)
    often = attention(queries[2:, :1].expand(1, DRAWS, -1), memory, weights=True).weights.mean((0, 1, 2))
    _, pi = bahdanau2014(queries[2:, :1].numpy(), source[2:].numpy(), READABLE[2:], arrays(named(attention, LETTERS)))
    # the standard deviation of a frequency is at most ½/√DRAWS = .0016
    np.testing.assert_allclose(often.numpy(), pi[0, 0, 0], rtol=0, atol=0.007)
    assert often[1] == often[4] == 0


def test_reinforce_with_the_log_probability_learns_the_expected_reward() -> None:
    """E[r_j ∇ log π_j] = ∇ Σ_j π_j r_j"""
    attention, queries, source = _ready(papers.xu2015(query_dim=3, memory_dim=2, width=WIDTH))
    reward = np.array([1.0, -1.0, 2.0, 0.5, -0.5])
    torch.manual_seed(4)
    reading = attention(queries[:1, :1].expand(1, DRAWS, -1), attention.remember(source[:1]), weights=True)
    (reading.log_prob * (reading.weights @ torch.from_numpy(reward))).mean().backward()

    def expected_reward(at: Mapping[str, Array]) -> float:
        _, pi = bahdanau2014(queries[:1, :1].numpy(), source[:1].numpy(), READABLE[:1], at)
        return float(pi[0, 0, 0] @ reward)

    letters = named(attention, LETTERS)
    estimate = arrays({letter: p.grad for letter, p in letters.items() if p.grad is not None})
    # one draw's r ∇ log π is of the order of 1, so the mean of DRAWS is within .003 or so
    assert_gradients(estimate, expected_reward, arrays(letters), directions=5, tolerance=0.015)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_jang2017_is_hard_forward_and_soft_backward(temperature: float) -> None:
    """z = one-hot(argmax y) forward; backward ∇z is taken to be ∇y, with the same noise."""
    attention, queries, source = _ready(
        papers.jang2017(query_dim=3, memory_dim=2, width=WIDTH, temperature=temperature)
    )
    queries.requires_grad_(), source.requires_grad_()
    torch.manual_seed(5)
    noise = -torch.empty(B, 1, T, S, dtype=torch.float64).exponential_().log().numpy()[:, 0]
    torch.manual_seed(5)
    reading = attention(queries, attention.remember(source, torch.from_numpy(READABLE)), weights=True)
    functional = np.random.default_rng(3).standard_normal(reading.context.shape)
    (torch.from_numpy(functional) * reading.context).sum().backward()

    tensors = {"queries": queries, "source": source, **named(attention, LETTERS)}
    at = arrays(tensors)

    def soft(at: Mapping[str, Array]) -> Array:
        return jang2017(at["queries"], at["source"], READABLE, at, noise=noise, temperature=temperature)[1]

    y = soft(at)
    z = np.eye(S)[y.argmax(-1)]
    np.testing.assert_array_equal(reading.weights.detach().numpy(), z)

    def straight_through(moved: Mapping[str, Array]) -> float:
        weights = z + soft(moved) - y  # is z here, and moves as y does
        return float((functional * (weights[:, 0] @ moved["source"])).sum())

    gradients = arrays({name: tensor.grad for name, tensor in tensors.items() if tensor.grad is not None})
    assert_gradients(gradients, straight_through, at)
