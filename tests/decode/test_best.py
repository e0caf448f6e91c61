"""The best few are those of a whole sort."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.decode.search.best import find_best


@settings(deadline=None, max_examples=100)
@given(
    vocabulary=st.one_of(st.integers(5, 40), st.sampled_from([64, 100, 1000, 1003])),
    width=st.integers(1, 6),
    forbidden=st.floats(0, 1),
    seed=st.integers(0, 10**6),
)
def test_best_equals_a_sort(vocabulary: int, width: int, forbidden: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2, 3, width, vocabulary, generator=generator, dtype=torch.float64)
    scores[torch.rand(scores.shape, generator=generator) < forbidden] = float("-inf")
    totals = torch.randn(2, 3, width, generator=generator, dtype=torch.float64)
    totals[..., width // 2 + 1 :] = float("-inf")
    values, rows, tokens = find_best(scores, totals, width)
    whole = (scores + totals[..., None]).flatten(-2)
    assert torch.equal(values, whole.topk(width).values)
    exists = values > float("-inf")
    assert torch.equal(values[exists], whole.gather(-1, rows * vocabulary + tokens)[exists])
    places = (rows * vocabulary + tokens)[exists]
    assert (tokens < vocabulary).all() and (rows < width).all() and len(places) == exists.sum()
    for found, there in zip((rows * vocabulary + tokens).flatten(0, -2), exists.flatten(0, -2)):
        assert len(set(found[there].tolist())) == there.sum()  # none of them twice
