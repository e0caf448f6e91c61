"""Masks equal their definitions in plain Python, and leave their input unchanged."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.decode.search import expansion
from saccade.decode.search.expansion import mask_early_end, mask_loops, mask_repeated_ngrams
from saccade.text import EOS

V = 6
written = st.lists(st.lists(st.integers(4, 5), min_size=7, max_size=7), min_size=2, max_size=2)


def forbidden(mask: Callable[..., torch.Tensor], rows: list[list[int]], length: int) -> list[set[int]]:
    log_probs = torch.zeros(1, len(rows), V)
    masked = mask(log_probs, torch.tensor([[row[:length] for row in rows]]))
    assert not log_probs.any()  # the caller's own is left alone
    return [{token for token in range(V) if row[token] == float("-inf")} for row in masked[0].tolist()]


@settings(deadline=None, max_examples=60)
@given(rows=written, length=st.integers(0, 7), size=st.integers(1, 4))
def test_repeated_ngrams_are_masked(rows: list[list[int]], length: int, size: int) -> None:
    for row, forbidden_tokens in zip(rows, forbidden(partial(mask_repeated_ngrams, size=size), rows, length)):
        expected = set()
        for token in range(V):
            after = [*row[:length], token]
            runs = [tuple(after[i : i + size]) for i in range(len(after) - size + 1)]
            if runs and runs[-1] in runs[:-1]:
                expected.add(token)
        assert forbidden_tokens == expected


@settings(deadline=None, max_examples=60)
@given(rows=written, length=st.integers(0, 7), most=st.integers(1, 3))
def test_loops_are_masked(rows: list[list[int]], length: int, most: int) -> None:
    for row, forbidden_tokens in zip(rows, forbidden(partial(mask_loops, most=most), rows, length)):
        expected = set()
        for token in range(V):
            after = [*row[:length], token]
            for size in range(1, len(after) // (most + 1) + 1):
                run = after[len(after) - size :]
                if after[len(after) - size * (most + 1) :] == run * (most + 1):
                    expected.add(token)
        assert forbidden_tokens == expected


def test_loop_mask_examines_few_sizes_in_a_long_text(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    forbid = expansion._forbid

    def counted(log_probs: torch.Tensor, tokens: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
        sizes.append(tokens.numel())
        return forbid(log_probs, tokens, where)

    monkeypatch.setattr(expansion, "_forbid", counted)
    text = torch.randint(4, 500, (1, 2, 6000), generator=torch.Generator().manual_seed(1))
    mask_loops(torch.zeros(1, 2, 500), text, most=8)
    assert not sizes  # nothing is in a row, so no size is looked at more closely
    text[..., -69:] = torch.tensor([7, 8, 9]).repeat(23)
    mask_loops(torch.zeros(1, 2, 500), text, most=8)
    assert 0 < len(sizes) < 30


def test_the_end_of_short_sentences_is_masked() -> None:
    log_probs = torch.zeros(3, 2, V)
    masked = mask_early_end(log_probs, torch.zeros(3, 2, 2), [2, 3, 0])
    assert not log_probs.any()
    assert (masked == float("-inf")).nonzero().tolist() == [[1, 0, EOS], [1, 1, EOS]]
