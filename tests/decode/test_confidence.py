"""Confidence is monotone, finite and close to the truth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.decode.confidence import Calibration, Logistic, calibration_error, log_odds

PLAIN = Calibration(
    token=Logistic(slope=1.0, offset=0.0),
    sentence=Logistic(slope=2.0, offset=1.0),
    tokens=10,
    sentences=2,
    token_error=(0.2, 0.1),
    sentence_error=(0.3, 0.1),
)


def test_fit_recovers_the_true_parameters() -> None:
    random = np.random.default_rng(1)
    x = random.normal(1, 2, 20_000)
    y = (random.random(20_000) < Logistic(slope=0.7, offset=-0.4)(x)).astype(float)
    fitted = Logistic.fit(x, y)
    assert fitted.slope == pytest.approx(0.7, abs=0.05) and fitted.offset == pytest.approx(-0.4, abs=0.05)
    assert calibration_error(fitted(x), y) < 0.02


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(-30, 0), st.floats(0, 1)), min_size=2, max_size=40))
def test_fit_is_finite_monotone_and_keeps_the_mean(data: list[tuple[float, float]]) -> None:
    x, y = (np.array(side) for side in zip(*data, strict=True))
    fitted = Logistic.fit(x, y)
    predicted = fitted(np.linspace(-40, 5, 50))
    assert math.isfinite(fitted.slope) and math.isfinite(fitted.offset) and fitted.slope >= 0
    assert (np.diff(predicted) >= 0).all() and ((predicted >= 0) & (predicted <= 1)).all()
    # The mean confidence equals the share of correct sentences, up to a prior worth a fraction of a sentence.
    assert fitted(x).mean() == pytest.approx(y.mean(), abs=1.5 / len(x) + 1e-6)


def test_fit_without_evidence_is_constant_and_below_one() -> None:
    x = np.linspace(-3, 0, 60)
    falling = Logistic.fit(x, np.linspace(0.9, 0.1, 60))
    assert falling.slope == 0 and falling(x[:1])[0] == pytest.approx(0.5, abs=0.01)
    sure = Logistic.fit(x, np.ones(60))(x)
    assert sure.min() > 0.97 and sure.max() < 1


def test_calibration_error_is_the_gap_in_each_bin() -> None:
    predicted, true = np.array([0.05, 0.95, 0.95, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    # |0.05| in the first bin; |0.95 + 0.95 + 1.0 − 2| in the last
    assert calibration_error(predicted, true) == pytest.approx((0.05 + 0.9) / 4)
    assert calibration_error(true, true) == 0
    # Too sure in one bin does not make good for too modest in another.
    assert calibration_error(np.array([0.25, 0.75]), np.array([1.0, 0.0])) == pytest.approx(0.75)
    assert calibration_error(np.array([0.3, 0.31, 0.69, 0.7]), np.array([0.0, 1.0, 0.0, 1.0])) == pytest.approx(0.345)


def test_log_odds_are_finite_at_certainty() -> None:
    odds = log_odds(np.array([0.0, math.log(0.5), -50.0]))
    assert np.isfinite(odds).all() and odds[1] == pytest.approx(0) and odds[2] == pytest.approx(-50)


def test_word_confidence_is_the_product_over_its_tokens() -> None:
    log_probs = [math.log(p) for p in (0.9, 0.8, 0.5, 0.7, 0.6)]  # the last is the end
    words = PLAIN.of_words(log_probs, [(0, 1), (0, 1), (1, 1), (1, 3)], 3)
    assert words == pytest.approx((0.72, 0.7, 0.7))  # a lone space is of no word, a token over two words of both
    assert PLAIN.of_tokens(log_probs) == pytest.approx((0.9, 0.8, 0.5, 0.7, 0.6))
    assert PLAIN.of_sentence([-0.5, -1.5]) == pytest.approx(1 / (1 + math.exp(1)))
