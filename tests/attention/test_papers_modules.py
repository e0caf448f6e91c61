"""Seo 2017 (both directions) and Lin 2017 (hops and their penalty) against their equations: values and gradients."""

from collections.abc import Mapping

import numpy as np
import torch
import transcriptions_transformer as paper
from derivatives import arrays, assert_gradients, named, randomise
from torch import Tensor
from transcriptions import Array

from saccade.attention import BidirectionalAttention, MultiHopAttention, hop_penalty

B, T, J, WIDTH = 3, 4, 3, 5
CONTEXT = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 1]], dtype=bool)
QUESTION = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)
SEO = {
    "w, h": "attention.score.of_query",
    "w, u": "attention.score.of_key",
    "w, h∘u": "attention.score.of_both",
}


def _random(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _seo(at: Mapping[str, Array]) -> tuple[Array, Array, Array, Array, Array]:
    letters = {letter: at[letter] for letter in SEO}
    U_tilde, a = paper.seo2017_to_query(at["H"], at["U"], QUESTION, letters)
    h_tilde, b = paper.seo2017_to_context(at["H"], at["U"], CONTEXT, QUESTION, letters)
    return U_tilde, a, h_tilde, b, paper.seo2017_merged(at["H"], U_tilde, h_tilde)


def test_seo2017_values_and_gradients() -> None:
    module = BidirectionalAttention(WIDTH).double()
    randomise(module)
    H, U = _random(B, T, WIDTH, seed=1).requires_grad_(), _random(B, J, WIDTH, seed=2).requires_grad_()
    both = module(H, U, torch.from_numpy(CONTEXT), torch.from_numpy(QUESTION))
    tensors = {"H": H, "U": U, **named(module, SEO)}
    U_tilde, a, h_tilde, b, G = _seo(arrays(tensors))
    found_and_expected = [  # of the words of the context: the paper says nothing of padding
        (both.to_query.context[CONTEXT], U_tilde[CONTEXT]),
        (both.to_query.weights[:, 0][CONTEXT], a[:, 0][CONTEXT]),
        (both.to_context.context[:, 0], h_tilde),
        (both.to_context.weights[:, 0, 0], b),
        (both.merged[CONTEXT], G[CONTEXT]),
    ]
    for found, expected in found_and_expected:
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=1e-10)

    functional = np.random.default_rng(3).standard_normal(G.shape) * CONTEXT[:, :, None]
    objective = (torch.from_numpy(functional) * both.merged).sum()
    gradients = arrays(dict(zip(tensors, torch.autograd.grad(objective, list(tensors.values())))))
    assert_gradients(gradients, lambda at: float((functional * _seo(at)[-1]).sum()), arrays(tensors))


def test_seo2017_ignores_nan_in_padding() -> None:
    """Neither a value nor a gradient is touched by what stands in a slot that may not be read."""
    module = BidirectionalAttention(WIDTH).double()
    H, U = _random(B, T, WIDTH, seed=1), _random(B, J, WIDTH, seed=2)
    H[~torch.from_numpy(CONTEXT)] = float("nan")
    U[~torch.from_numpy(QUESTION)] = float("nan")
    both = module(H, U, torch.from_numpy(CONTEXT), torch.from_numpy(QUESTION))
    assert both.merged.isfinite().all()
    both.merged.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


LIN = {"W_s1": "of_keys.weight", "W_s2": "queries"}


def test_lin2017_values_and_gradients() -> None:
    module = MultiHopAttention(memory_dim=WIDTH, width=6, hops=3).double()
    randomise(module)
    H = _random(B, T, WIDTH, seed=1).requires_grad_()
    reading = module(H, torch.from_numpy(CONTEXT))
    tensors = {"H": H, **named(module, LIN)}
    M, A = paper.lin2017(arrays(tensors)["H"], CONTEXT, arrays(tensors))
    np.testing.assert_allclose(reading.context.detach().numpy(), M, rtol=0, atol=1e-10)
    np.testing.assert_allclose(reading.weights[:, 0].detach().numpy(), A, rtol=0, atol=1e-10)
    unseen = module(H, torch.from_numpy(CONTEXT), weights=False)
    np.testing.assert_allclose(unseen.context.detach().numpy(), M, rtol=0, atol=1e-10)

    penalties = hop_penalty(reading.weights)
    np.testing.assert_allclose(penalties.detach().numpy(), [paper.lin2017_penalty(A[b]) for b in range(B)], atol=1e-10)

    functional = np.random.default_rng(3).standard_normal(M.shape)

    def objective(at: Mapping[str, Array]) -> float:
        M, A = paper.lin2017(at["H"], CONTEXT, at)
        return float((functional * M).sum()) + sum(paper.lin2017_penalty(A[b]) for b in range(B))

    total = (torch.from_numpy(functional) * reading.context).sum() + penalties.sum()
    gradients = arrays(dict(zip(tensors, torch.autograd.grad(total, list(tensors.values())))))
    assert_gradients(gradients, objective, arrays(tensors))


def test_lin2017_ignores_nan_in_padding() -> None:
    module = MultiHopAttention(memory_dim=WIDTH, width=6, hops=3).double()
    H = _random(B, T, WIDTH, seed=1)
    H[~torch.from_numpy(CONTEXT)] = float("nan")
    reading = module(H, torch.from_numpy(CONTEXT))
    assert reading.context.isfinite().all()
    reading.context.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


def test_lin2017_penalty_by_hand() -> None:
    """Hops on different slots cost nothing; two on one slot cost 1² + 1²; even ones over two slots (½)²·2 + (½)²·2."""
    apart, alike, even = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]
    assert hop_penalty(torch.tensor([[apart], [alike], [even]])).tolist() == [0.0, 2.0, 1.0]
