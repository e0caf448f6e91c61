"""Normalisers worked by hand: numbers small enough to check on paper."""

import math

import pytest
import torch
from torch import Tensor

from saccade.attention import (
    Entmax15,
    GumbelStraightThrough,
    Monotonic,
    Normaliser,
    Sampled,
    Sigmoid,
    Softmax,
    SoftmaxOrNothing,
    Sparsemax,
)

LN2, LN5 = math.log(2), math.log(5)


def _weigh(normaliser: Normaliser, scores: list[float], allowed: list[bool] | None = None) -> Tensor:
    row = torch.tensor(scores, dtype=torch.float64)[None, None, None]
    may = None if allowed is None else torch.tensor(allowed)[None, None, None]
    history = None
    if normaliser.needs_history:
        history = normaliser.begin(torch.zeros(1, 1, len(scores), dtype=torch.float64))[:, :, None]
    weights: Tensor = normaliser.double().eval()(row, may, history)[0]
    return weights.flatten()


@pytest.mark.parametrize(
    ("normaliser", "scores", "expected"),
    [
        (Softmax(), [0.0, LN2, LN5], [1 / 8, 2 / 8, 5 / 8]),
        (Softmax(), [1000.0, 1000.0 + LN2], [1 / 3, 2 / 3]),
        (SoftmaxOrNothing(), [0.0, LN2], [1 / 4, 2 / 4]),  # and ¼ of nothing
        (Sigmoid(), [0.0, LN2], [1 / 3, 1 / 2]),  # sigmoid(−ln 2), sigmoid(0)
        (Sparsemax(), [1.0, 0.5, -1.0], [0.75, 0.25, 0.0]),  # τ = ¼
        (Sparsemax(), [3.0, 1.0], [1.0, 0.0]),
        (Entmax15(), [0.0, 0.4, -2.0], [0.36, 0.64, 0.0]),  # τ = −.6: .6², .8²
        (Entmax15(), [0.0, 2.0], [0.0, 1.0]),
        (Monotonic(), [0.0, 0.0, 0.0], [1 / 2, 1 / 4, 1 / 8]),
        (Monotonic(), [-LN2, LN2, 0.0], [1 / 3, 4 / 9, 1 / 9]),  # p = ⅓, ⅔, ½
        (Monotonic(hard_when_testing=True), [-1.0, 0.1, 5.0], [0.0, 1.0, 0.0]),
        (Monotonic(hard_when_testing=True), [-1.0, -0.1, -5.0], [0.0, 0.0, 0.0]),
        (Sampled(), [1.0, 3.0, 2.0], [0.0, 1.0, 0.0]),  # in evaluation, the best
        (GumbelStraightThrough(), [1.0, 3.0, 2.0], [0.0, 1.0, 0.0]),
    ],
    ids=lambda value: value.name if isinstance(value, Normaliser) else str(value),
)
def test_by_hand(normaliser: Normaliser, scores: list[float], expected: list[float]) -> None:
    assert _weigh(normaliser, scores).tolist() == pytest.approx(expected, abs=1e-12)


NORMALISERS = [
    Softmax(),
    SoftmaxOrNothing(),
    Sigmoid(),
    Sparsemax(),
    Entmax15(),
    Monotonic(),
    Sampled(),
    GumbelStraightThrough(),
]
each = pytest.mark.parametrize("normaliser", NORMALISERS, ids=lambda normaliser: normaliser.name)


@each
def test_closed_slot_changes_nothing(normaliser: Normaliser) -> None:
    """However large its score."""
    some = _weigh(normaliser, [0.3, 50.0, -0.2, 0.1], [True, False, True, True])
    assert some[1] == 0
    assert some[[0, 2, 3]].tolist() == pytest.approx(_weigh(normaliser, [0.3, -0.2, 0.1]).tolist(), abs=1e-12)


@each
def test_nothing_allowed_gets_nothing(normaliser: Normaliser) -> None:
    assert _weigh(normaliser, [0.3, 50.0], [False, False]).tolist() == [0, 0]


def test_empty_slot_may_be_learned_per_head() -> None:
    """With e₀ = ln 5 against scores 0 and ln 2 an eighth and a quarter are left."""
    normaliser = SoftmaxOrNothing(heads=2, learned=True)
    with torch.no_grad():
        normaliser.nothing.copy_(torch.tensor([LN5, 0.0]))
    weights, _ = normaliser(torch.tensor([[0.0, LN2], [0.0, LN2]])[None, :, None], None, None)
    assert weights.flatten().tolist() == pytest.approx([1 / 8, 2 / 8, 1 / 4, 2 / 4])


def test_monotonic_continues_from_its_last_place() -> None:
    """p = ½ throughout. After ½, ¼, ⅛: q = ½, ¼ + ¼, ¼ + ⅛, and half of each stays."""
    first = torch.tensor([[[[1 / 2, 1 / 4, 1 / 8]]]])
    second, _ = Monotonic().eval()(torch.zeros(1, 1, 1, 3), None, first)
    assert second.flatten().tolist() == pytest.approx([1 / 4, 1 / 4, 3 / 16])


def test_monotonic_never_goes_back() -> None:
    weights, _ = Monotonic().eval()(torch.zeros(1, 1, 1, 3), None, torch.tensor([[[[0.0, 0.0, 1.0]]]]))
    assert weights.flatten().tolist() == pytest.approx([0, 0, 1 / 2])


def test_sampled_gives_the_log_probability_of_its_choice() -> None:
    scores = torch.tensor([[[[0.0, LN2, LN5]]]])
    _, (log_prob, entropy) = Sampled().eval()(scores, None, None)
    assert log_prob.shape == entropy.shape == (1, 1, 1)
    assert log_prob.item() == pytest.approx(math.log(5 / 8))
    probs = torch.softmax(scores, -1).flatten().tolist()
    assert entropy.item() == pytest.approx(-sum(p * math.log(p) for p in probs))
    _, among_two = Sampled().eval()(scores, torch.tensor([[[[True, True, False]]]]), None)
    assert among_two.log_prob.item() == pytest.approx(math.log(2 / 3))
    assert among_two.entropy.item() == pytest.approx(-(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3))
    _, of_nothing = Sampled().eval()(scores, torch.zeros(1, 1, 1, 3, dtype=torch.bool), None)
    assert of_nothing.log_prob.item() == 0


@each
def test_half_precision_is_weighed_in_single(normaliser: Normaliser) -> None:
    scores = torch.zeros(1, 1, 1, 3, dtype=torch.bfloat16)
    history = normaliser.begin(torch.zeros(1, 1, 3))[:, :, None] if normaliser.needs_history else None
    weights, _ = normaliser.float().eval()(scores, None, history)
    assert weights.dtype == torch.float32


@pytest.mark.parametrize("normaliser", [Softmax(), Sparsemax(), Entmax15()], ids=lambda normaliser: normaliser.name)
def test_scores_that_are_not_finite_give_nan_and_spare_the_other_rows(normaliser: Normaliser) -> None:
    """So that a training run sees a loss that is not finite, instead of an error from inside a package."""
    scores = torch.tensor([[float("nan"), 1.0], [0.0, 0.0]], requires_grad=True)
    weights, _ = normaliser(scores[None, None], None, None)
    assert weights[0, 0, 0].isnan().all()
    assert weights[0, 0, 1].tolist() == pytest.approx([0.5, 0.5])
    weights[0, 0, 1, 0].backward()
    assert scores.grad is not None and scores.grad[1].isfinite().all()
