"""Masks equal their definitions in plain Python."""

from collections.abc import Callable

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.decode import Search
from saccade.decode.search.masks import Recent, mask_early_end, mask_loops, mask_repeated_ngrams
from saccade.text import EOS

V, LONGEST, TEXTS = 7, 16, 3
# All texts of one length, of few words, so that much is repeated.
texts = st.tuples(st.integers(0, LONGEST - 1), st.integers(4, 6)).flatmap(
    lambda drawn: st.lists(
        st.lists(st.integers(4, drawn[1]), min_size=drawn[0], max_size=drawn[0]), min_size=TEXTS, max_size=TEXTS
    )
)


def forbidden(
    mask: Callable[[torch.Tensor, Recent, int], None], search: Search, rows: list[list[int]], limit: int
) -> list[set[int]]:
    """After writing the texts token by token, while each of them moves to the next row of the beam at every step."""
    recent = Recent.start(1, search, LONGEST, torch.device("cpu"))
    assert recent is not None
    first = torch.arange(TEXTS)
    written = torch.tensor(rows, dtype=torch.long).view(TEXTS, -1)
    for step, tokens in enumerate(written.unbind(1)):
        recent = recent.follow((first - 1).remainder(TEXTS)[None], tokens[(first - step - 1).remainder(TEXTS)][None])
    scores = torch.zeros(1, TEXTS, V)
    mask(scores, recent, limit)
    masked = scores[0, (first + written.shape[1]).remainder(TEXTS)] == float("-inf")
    return [{token for token in range(V) if row[token]} for row in masked.tolist()]


@settings(deadline=None, max_examples=100)
@given(rows=texts, size=st.integers(1, 4))
def test_repeated_ngrams_are_masked(rows: list[list[int]], size: int) -> None:
    search = Search(beam=TEXTS, no_repeat=size)
    for row, forbidden_tokens in zip(rows, forbidden(mask_repeated_ngrams, search, rows, size)):
        expected = set()
        for token in range(V):
            after = [*row, token]
            runs = [tuple(after[i : i + size]) for i in range(len(after) - size + 1)]
            if runs and runs[-1] in runs[:-1]:
                expected.add(token)
        assert forbidden_tokens == expected


@settings(deadline=None, max_examples=100)
@given(rows=texts, most=st.integers(1, 4))
def test_loops_are_masked(rows: list[list[int]], most: int) -> None:
    search = Search(beam=TEXTS, repeats=most)
    for row, forbidden_tokens in zip(rows, forbidden(mask_loops, search, rows, most)):
        expected = set()
        for token in range(V):
            after = [*row, token]
            for size in range(1, len(after) // (most + 1) + 1):
                run = after[len(after) - size :]
                if after[len(after) - size * (most + 1) :] == run * (most + 1):
                    expected.add(token)
        assert forbidden_tokens == expected


def test_recent_tokens_are_kept_only_where_a_mask_needs_them() -> None:
    def width(search: Search) -> int:
        recent = Recent.start(1, search, 90, torch.device("cpu"))
        return 0 if recent is None else recent.tokens.shape[-1]

    assert [width(Search()), width(Search(repeats=8)), width(Search(repeats=8, no_repeat=3))] == [0, 10, 90]


def test_the_end_of_short_sentences_is_masked() -> None:
    scores = torch.zeros(3, 2, V)
    mask_early_end(scores, torch.tensor([2, 3, 0]), torch.tensor([2]))
    assert (scores == float("-inf")).nonzero().tolist() == [[1, 0, EOS], [1, 1, EOS]]
