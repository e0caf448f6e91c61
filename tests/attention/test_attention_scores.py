"""Scores worked by hand: numbers small enough to check on paper."""

import math
from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from saccade.attention import (
    Additive,
    Attention,
    Bilinear,
    Cosine,
    Coverage,
    Dot,
    LocationAware,
    LocationOnly,
    Memory,
    ScaledDot,
    Score,
    Trilinear,
)

HALF = math.atanh(0.5)  # tanh of it is ½


def _set(score: Score, parameters: Mapping[str, object]) -> Score:
    with torch.no_grad():
        for name, value in parameters.items():
            parameter = score.get_parameter(name)
            parameter.copy_(torch.tensor(value).reshape(parameter.shape))
    return score


def _memory(*keys: list[float]) -> Memory:
    held = torch.tensor(keys)[None, None]
    return Memory(held, held)


@pytest.mark.parametrize(
    ("score", "query", "key", "expected"),
    [
        (Dot(), [1.0, 2.0], [3.0, 4.0], 11.0),
        (ScaledDot(), [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0], 5.0),  # 10/√4
        (Cosine(0.5), [3.0, 4.0], [4.0, 3.0], 1.92),  # 24/25 over ½
        (Cosine(0.5), [30.0, 40.0], [0.4, 0.3], 1.92),  # lengths do not matter
        # w₁·q = 1, w₂·k = 18, w₃·(q∘k) = 10
        (
            _set(Trilinear(2), {"of_query": [1.0, 2.0], "of_key": [3.0, 4.0], "of_both": [5.0, 6.0]}),
            [1.0, 0.0],
            [2.0, 3.0],
            29.0,
        ),
        (_set(Additive(2), {"v": [3.0, 2.0]}), [1.0, 0.0], [-1.0, HALF], 1.0),  # 3·tanh 0 + 2·½
        (_set(Additive(2, bias=True), {"v": [3.0, 2.0], "b": [0.0, HALF]}), [1.0, 0.0], [-1.0, 0.0], 1.0),
        # 10·(.6·0 + .8·½) − 1
        (
            _set(Additive(2, normalised=True), {"v": [3.0, 4.0], "gain": 10.0, "offset": -1.0}),
            [1.0, 0.0],
            [-1.0, HALF],
            3.0,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Score) else None,
)
def test_one_query_one_key(score: Score, query: list[float], key: list[float], expected: float) -> None:
    scores = score(torch.tensor(query)[None, None, None], _memory(key), None)
    assert scores.shape == (1, 1, 1, 1)
    assert scores.item() == pytest.approx(expected, rel=1e-6)


def test_bilinear_puts_its_matrix_on_the_keys() -> None:
    """(1, 2)·([[1, 2], [3, 4]] (1, 1)) = (1, 2)·(3, 7) = 17"""
    attention = Attention(query_dim=2, memory_dim=2, score=Bilinear())
    with torch.no_grad():
        attention.of_keys.get_parameter("weight").copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    memory = attention.remember(torch.ones(1, 1, 2))
    assert memory.keys.flatten().tolist() == [3, 7]
    scored = attention.score_slots(torch.tensor([[[1.0, 2.0]]]), memory, torch.zeros(1, 1, dtype=torch.long))
    assert scored.scores.item() == 17


def test_location_aware_sees_the_last_weights_on_both_sides() -> None:
    """All weight was on slot 1; taps 1, 2, 3 put 3 on the slot before, 2 on the slot, 1 on the slot after."""
    score = LocationAware(1, filters=1, kernel=3)
    _set(score, {"v": 1.0, "convolution.weight": [0.1, 0.2, 0.3], "of_filters.weight": 1.0})
    scores = score(torch.zeros(1, 1, 1, 1), _memory([0.0], [0.0], [0.0], [0.0]), _one_hot(1, 4))
    assert scores.flatten().tolist() == pytest.approx([math.tanh(0.3), math.tanh(0.2), math.tanh(0.1), 0])


def test_coverage_counts_in_units_of_fertility() -> None:
    """Φ = 4·sigmoid(0) = 2 for a zero source, 4·sigmoid(ln 3) = 3 for one whose u·h is ln 3."""
    score = Coverage(1, memory_dim=1, most=4.0)
    _set(score, {"v": 1.0, "of_coverage": 2.0, "fertility.weight": 1.0})
    fertility = score.note(torch.tensor([[[0.0], [math.log(3)]]]))
    assert fertility.flatten().tolist() == pytest.approx([2, 3])
    memory = _memory([0.0], [0.0])._replace(notes=fertility)
    covered = score.advance(torch.tensor([[[[0.5, 0.0]]]]), torch.tensor([[[[0.4, 0.6]]]]), memory)
    assert covered.flatten().tolist() == pytest.approx([0.7, 0.2])
    scores = score(torch.zeros(1, 1, 1, 1), memory, covered)
    assert scores.flatten().tolist() == pytest.approx([math.tanh(1.4), math.tanh(0.4)])


def test_location_only_scores_depend_on_the_query_alone() -> None:
    score = _set(LocationOnly(2, longest=3), {"weight": [[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]})
    query = torch.tensor([[[[1.0, 1.0]]]])
    assert score(query, _memory([5.0], [5.0]), None).flatten().tolist() == [11, 22]  # a short source: the head of them
    assert score.reach == 3


def test_location_only_reads_nothing_from_longest_on() -> None:
    attention = Attention(query_dim=2, memory_dim=3, score=LocationOnly(2, longest=2))
    reading = attention(torch.randn(1, 4, 2), attention.remember(torch.randn(1, 5, 3)), weights=True)
    assert (reading.weights[..., 2:] == 0).all()
    torch.testing.assert_close(reading.weights.sum(-1), torch.ones(1, 1, 4))


def _one_hot(slot: int, length: int) -> Tensor:
    return torch.eye(length)[slot][None, None, None]
