"""Raffel 2017: noise in training, hard decoding, long sources. (In evaluation: test_papers_equations.py.)"""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from derivatives import arrays, named, randomise
from torch import Tensor
from transcriptions import Array, Mask, monotonic, raffel2017, raffel2017_greedy

from saccade.attention import Attention, Monotonic, papers

B, T, S, WIDTH = 3, 4, 5, 4
READABLE = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 1]], dtype=bool)
LETTERS = {
    "W": "of_queries.weight",
    "V": "of_keys.weight",
    "b": "score.b",
    "v": "score.v",
    "g": "score.gain",
    "r": "score.offset",
}


def _ready(**options: Any) -> tuple[Attention, Tensor, Tensor]:
    attention = papers.raffel2017(query_dim=3, memory_dim=2, width=WIDTH, **options).double()
    randomise(attention)
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(B, T, 3, generator=generator, dtype=torch.float64)
    source = torch.randn(B, S, 2, generator=generator, dtype=torch.float64)
    return attention, queries, source


@pytest.mark.parametrize("deviation", [1.0, 0.3])
def test_noise_joins_the_energy_in_training(deviation: float) -> None:
    attention, queries, source = _ready(noise=deviation)
    torch.manual_seed(2)
    noise = torch.cat([torch.randn(B, 1, 1, S, dtype=torch.float64) for _ in range(T)], 2)[:, 0] * deviation
    torch.manual_seed(2)
    reading = attention.train()(queries, attention.remember(source, torch.from_numpy(READABLE)), weights=True)
    letters = arrays(named(attention, LETTERS))
    context, weights = raffel2017(queries.numpy(), source.numpy(), READABLE, letters, noise=noise.numpy())
    np.testing.assert_allclose(reading.weights.detach().numpy(), weights, rtol=0, atol=1e-10)
    np.testing.assert_allclose(reading.context.detach().numpy(), context, rtol=0, atol=1e-10)


def test_no_noise_in_evaluation() -> None:
    attention, queries, source = _ready()
    memory = attention.eval().remember(source)
    quiet, _, _ = _ready(noise=0.0)
    assert torch.equal(attention(queries, memory).context, attention(queries, memory).context)
    assert torch.equal(attention(queries, memory).context, quiet.train()(queries, memory).context)


def _trial(seed: int) -> tuple[Array, Mask]:
    """Scores of 6 steps over 16 slots, some of which may not be read."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((6, 16)) - 0.4, generator.random(16) < 0.8


@pytest.mark.parametrize("seed", range(8))
def test_hard_when_testing_is_the_greedy_algorithm(seed: int) -> None:
    scores, readable = _trial(seed)
    normaliser = Monotonic(hard_when_testing=True).eval()
    weights = _step_by_step(normaliser, torch.from_numpy(scores), torch.from_numpy(readable))
    chosen = raffel2017_greedy(1 / (1 + np.exp(-scores)), readable)
    expected = np.stack([np.zeros(16) if j is None else np.eye(16)[j] for j in chosen])
    np.testing.assert_allclose(weights.numpy(), expected, rtol=0, atol=1e-12)


def test_greedy_algorithm_trials_are_fair() -> None:
    """Some sources are used up and some are not; some steps stay where they are."""
    trials = [_trial(seed) for seed in range(8)]
    chosen = [raffel2017_greedy(1 / (1 + np.exp(-scores)), readable) for scores, readable in trials]
    assert {None in row for row in chosen} == {True, False}
    assert any(a is not None and a == b for row in chosen for a, b in pairwise(row))


def test_hard_when_testing_in_the_whole_attention() -> None:
    attention, queries, source = _ready(hard_when_testing=True)
    reading = attention.eval()(queries, attention.remember(source), weights=True)
    where = torch.arange(T)[None]
    scores = attention.score_slots(queries, attention.remember(source), where).scores.detach().numpy()
    for b in range(B):
        chosen = raffel2017_greedy(1 / (1 + np.exp(-scores[b, 0])), np.ones(S, dtype=bool))
        expected = [np.zeros(2) if j is None else source[b, j].numpy() for j in chosen]
        np.testing.assert_allclose(reading.context[b].detach().numpy(), expected, rtol=0, atol=1e-12)


def test_hard_when_testing_is_soft_in_training() -> None:
    """A hard choice has no gradient: what would be hard later is learnt from the expected weights."""
    soft, queries, source = _ready(noise=0.0)
    hard, _, _ = _ready(noise=0.0, hard_when_testing=True)
    memory = soft.remember(source)
    expected = soft.train()(queries, memory, weights=True).weights
    assert torch.equal(hard.train()(queries, memory, weights=True).weights, expected)
    assert not torch.equal(hard.eval()(queries, memory, weights=True).weights, expected)


def test_reading_starts_late_and_the_energy_at_the_scale_of_the_paper() -> None:
    """r = −4, so that each slot is chosen with a probability near sigmoid(−4) = 0.018; g = 1/√width."""
    attention = papers.raffel2017(query_dim=3, memory_dim=2, width=16, noise=0.0)
    assert (attention.score.offset.item(), attention.score.gain.item()) == (-4.0, 0.25)
    source = torch.randn(1, 5, 2, generator=torch.Generator().manual_seed(1))
    weights = attention(torch.zeros(1, 1, 3), attention.remember(source), weights=True).weights.detach().flatten()
    assert all(0.01 < float(weight) < 0.025 for weight in weights)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_long_sources_do_not_underflow(dtype: torch.dtype, tolerance: float) -> None:
    length = 400
    generator = np.random.default_rng(0)
    scores = 0.2 * generator.standard_normal(length)  # p ≈ ½
    last = generator.random(length)
    last /= last.sum()
    history = torch.from_numpy(last).to(dtype)[None, None, None]
    weights, _ = Monotonic().eval()(torch.from_numpy(scores).to(dtype)[None, None, None], None, history)
    expected = monotonic({j: 1 / (1 + float(np.exp(-scores[j]))) for j in range(length)}, last)
    np.testing.assert_allclose(weights[0, 0, 0].double().numpy(), expected, rtol=tolerance, atol=0)


def test_the_closed_form_of_cumulative_products_does_underflow() -> None:
    """What the log-space solution is for: α_i = p_i · cumprod(1 − p_i) · cumsum(α_{i−1} / cumprod(1 − p_i))."""
    p = torch.full((400,), 0.5)
    passed = torch.cumprod(torch.cat([torch.ones(1), 1 - p[:-1]]), 0)
    last = torch.full((400,), 1 / 400)
    assert not (p * passed * torch.cumsum(last / passed, 0)).isfinite().all()


def _step_by_step(normaliser: Monotonic, scores: Tensor, readable: Tensor) -> Tensor:
    """(T, S) weights of scores (T, S), each step from the last."""
    history = normaliser.begin(torch.zeros(1, 1, scores.shape[1], dtype=scores.dtype))[:, :, None]
    steps = []
    for row in scores:
        history, _ = normaliser(row[None, None, None], readable[None, None, None], history)
        steps.append(history[0, 0, 0])
    return torch.stack(steps)
