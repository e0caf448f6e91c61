"""Worked by hand: small numbers that were computed on paper (docs/by-hand.md shows how), read by our own classes."""

import math

import pytest
import torch
from torch import Tensor

from saccade.attention import ATTENTIONS, Attention, Dot, ScaledDot, Sinusoidal

TOKENS = {"我": 1.0, "爱": 2.0, "你": 3.0}
H = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]], dtype=torch.float64)  # three source states
W = [[0.5, 0.0], [0.0, 0.5]]
U = [[1.0, -1.0], [0.0, 1.0]]
V = [1.0, 2.0]


def embed(sentence: str) -> Tensor:
    """(1, words, 1)"""
    return torch.tensor([[[TOKENS[word]] for word in sentence]], dtype=torch.float64)


def weightless(width: int = 1) -> Attention:
    return Attention(query_dim=width, memory_dim=width, score=Dot())


def self_read(sentence: Tensor) -> list[float]:
    attention = weightless()
    context: list[float] = attention(sentence, attention.remember(sentence)).context.flatten().tolist()
    return context


def approximately(numbers: Tensor, expected: list[float] | list[list[float]]) -> None:
    """To the three decimals that the page prints."""
    torch.testing.assert_close(numbers.detach().squeeze(), torch.tensor(expected).to(numbers), rtol=0, atol=5.1e-4)


def test_given_weights_read_1_6_2_and_2_4() -> None:
    given = torch.tensor([[[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]], dtype=torch.float64)
    attention = Attention(query_dim=3, memory_dim=3, value_dim=1, score=Dot())
    memory = attention.remember(torch.eye(3, dtype=torch.float64)[None], values=embed("我爱你"))
    reading = attention(given.log(), memory, weights=True)
    torch.testing.assert_close(reading.weights, given[None])
    assert reading.context.flatten().tolist() == pytest.approx([1.6, 2.0, 2.4])
    # Every row and every column of the weights sums to 1, so the readings sum to 1 + 2 + 3; 1.4, 1.8, 2.2 do not.
    assert reading.context.sum().item() == pytest.approx(6.0)


def test_softmax_scores_look_mostly_at_the_largest_token() -> None:
    attention, tokens = weightless(), embed("我爱你")
    reading = attention(tokens, attention.remember(tokens), weights=True)
    approximately(reading.weights, [[0.090, 0.245, 0.665], [0.016, 0.117, 0.867], [0.002, 0.047, 0.950]])
    approximately(reading.context, [2.575, 2.851, 2.948])
    assert reading.weights.argmax(-1).flatten().tolist() == [2, 2, 2]
    assert (reading.weights > 0).all()


def test_order_is_invisible_without_positions() -> None:
    love, loved = self_read(embed("我爱你")), self_read(embed("你爱我"))
    assert sorted(love) == pytest.approx(sorted(loved))
    assert love == pytest.approx(loved[::-1])  # each word, wherever it stands


def test_order_is_visible_with_positions() -> None:
    place, at = Sinusoidal(1), torch.arange(3)[None]
    love, loved = self_read(place(embed("我爱你"), at)), self_read(place(embed("你爱我"), at))
    assert love == pytest.approx([3.533, 3.860, 3.893], abs=5e-4)
    assert loved == pytest.approx([2.916, 2.911, 2.864], abs=5e-4)


def test_the_scale_brings_the_deviation_back_to_one() -> None:
    query = torch.ones(1, 1, 2, dtype=torch.float64)
    corners = torch.tensor([[[1, 1], [1, -1], [-1, 1], [-1, -1]]], dtype=torch.float64)
    for score, weights, deviation in (
        (Dot(), [0.776, 0.105, 0.105, 0.014], math.sqrt(2)),
        (ScaledDot(), [0.647, 0.157, 0.157, 0.038], 1.0),
    ):
        attention = Attention(query_dim=2, memory_dim=2, score=score, project="")
        memory = attention.remember(corners)
        approximately(attention(query, memory, weights=True).weights, weights)
        scores = attention.score_slots(query, memory, torch.zeros(1, 1, dtype=torch.long)).scores
        assert scores.std(correction=0).item() == pytest.approx(deviation)


@pytest.mark.parametrize(
    ("name", "query", "learned", "scores", "weights", "context"),
    [
        (
            "bahdanau2014",
            [1.0, 0.0],
            {"of_queries.weight": W, "of_keys.weight": U, "score.v": [V]},
            [0.905, 1.061, 1.985],
            [0.196, 0.229, 0.576],
            [0.771, 0.804],
        ),
        ("luong2015-global-dot", [0.5, 1.0], {}, [0.5, 1.0, 1.5], [0.186, 0.307, 0.506], [0.693, 0.814]),
        (
            "luong2015-global-general",
            [0.5, 1.0],
            {"of_keys.weight": [[1.0, 0.5], [0.0, -1.0]]},
            [0.5, -0.75, -0.25],
            [0.569, 0.163, 0.269],
            [0.837, 0.431],
        ),
        (
            "luong2015-global-concat",
            [0.5, 1.0],
            {"of_queries.weight": W, "of_keys.weight": U, "score.v": [V]},
            [1.773, 1.175, 2.055],
            [0.348, 0.191, 0.461],
            [0.809, 0.652],
        ),
    ],
)
def test_one_step_of_bahdanau_and_of_luong(
    name: str,
    query: list[float],
    learned: dict[str, list[list[float]]],
    scores: list[float],
    weights: list[float],
    context: list[float],
) -> None:
    attention = ATTENTIONS[name](query_dim=2, memory_dim=2, width=2).double()
    attention.load_state_dict({key: torch.tensor(value).double() for key, value in learned.items()})
    queries, memory = torch.tensor([[query]]).double(), attention.remember(H)
    approximately(attention.score_slots(queries, memory, torch.zeros(1, 1, dtype=torch.long)).scores, scores)
    reading = attention(queries, memory, weights=True)
    approximately(reading.weights, weights)
    approximately(reading.context, context)
