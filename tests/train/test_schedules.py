"""Schedules of the learning rate and of scheduled sampling, against hand computations and the papers."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.train.losses import truth_share
from saccade.train.optimisation import learning_rate
from saccade.train.training_options import Training

rates = st.builds(
    Training,
    lr=st.floats(1e-6, 10),
    schedule=st.sampled_from(["constant", "inverse-sqrt", "cosine", "linear", "staircase", "plateau"]),
    warmup=st.integers(0, 1000),
)


@settings(deadline=None, max_examples=200)
@given(
    training=rates,
    step=st.integers(0, 100_000),
    progress=st.floats(0, 1.5),
    epochs=st.floats(0, 100),
    falls=st.integers(0, 9),
)
def test_learning_rate_is_positive_and_at_most_lr(
    training: Training, step: int, progress: float, epochs: float, falls: int
) -> None:
    assert 0 < learning_rate(training, step, progress, epochs, falls) <= training.lr


@settings(deadline=None, max_examples=100)
@given(training=rates, step=st.integers(0, 998))
def test_learning_rate_rises_in_the_warm_up(training: Training, step: int) -> None:
    now, later = (learning_rate(training, at, 0.0) for at in (step, step + 1))
    if step + 1 < training.warmup:
        assert now < later == pytest.approx(training.lr * (step + 2) / training.warmup)
    elif training.schedule == "inverse-sqrt":
        assert later < now
    else:
        assert now == later == training.lr


def test_learning_rates_by_hand() -> None:
    training = Training(lr=1.0, warmup=4, schedule="inverse-sqrt")
    assert [learning_rate(training, step, 0.0) for step in (0, 3, 15)] == [0.25, 1.0, 0.5]
    cosine = replace(training, schedule="cosine")
    assert learning_rate(cosine, 99, 0.5) == pytest.approx(0.505) and learning_rate(cosine, 99, 1.0) == 0.01
    assert learning_rate(replace(training, schedule="constant"), 99, 0.9) == 1.0
    linear = replace(training, schedule="linear")
    assert learning_rate(linear, 99, 0.25) == 0.75 and learning_rate(linear, 99, 1.0) == 1e-4


@pytest.mark.parametrize(
    ("paper", "expected"),
    [
        # Sutskever 2014: 0.7, halved every half epoch after the fifth
        (
            Training(optimiser="sgd", lr=0.7, schedule="staircase", warmup=0, decay_after=5, decay_every=0.5),
            {0.0: 0.7, 4.99: 0.7, 5.0: 0.35, 5.49: 0.35, 5.5: 0.175, 7.49: 0.7 / 32},
        ),
        # Luong 2015, with dropout: 1, halved every epoch after the eighth
        (
            Training(optimiser="sgd", lr=1.0, schedule="staircase", warmup=0, decay_after=8),
            {7.9: 1.0, 8.0: 0.5, 9.0: 0.25, 11.5: 0.0625},
        ),
        # Zaremba 2014, medium: divided by 1.2 every epoch after the sixth
        (
            Training(optimiser="sgd", lr=1.0, schedule="staircase", warmup=0, decay_after=6, decay=1 / 1.2),
            {5.0: 1.0, 6.0: 1 / 1.2, 8.0: 1 / 1.2**3},
        ),
    ],
)
def test_staircases_equal_those_of_the_papers(paper: Training, expected: dict[float, float]) -> None:
    rates_by_epoch = {epochs: learning_rate(paper, 10_000, 0.5, epochs) for epochs in expected}
    assert rates_by_epoch == pytest.approx(expected)


def test_plateau_lowers_the_learning_rate_by_each_fall() -> None:
    training = Training(optimiser="sgd", lr=0.25, schedule="plateau", decay=0.1, warmup=0)  # Gehring 2017
    assert [learning_rate(training, 9, 0.5, 3.0, falls) for falls in range(3)] == pytest.approx([0.25, 0.025, 0.0025])


@pytest.mark.parametrize("sampling", ["linear", "exponential", "inverse-sigmoid"])
@pytest.mark.parametrize("half", [1, 20, 5000])
def test_share_of_true_words_falls(sampling: str, half: int) -> None:
    training = Training(sampling=sampling, sampling_half=half, sampling_least=0.1)
    shares = [truth_share(training, step) for step in range(0, 4 * half + 40, max(1, half // 20))]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.5 and shares[-1] == pytest.approx(0.1, abs=0.03)
    assert truth_share(training, half) == pytest.approx(0.5, abs=1e-9)
    assert truth_share(training, 10**9) == 0.1 and truth_share(replace(training, sampling=None), 10**9) == 1.0


def test_shares_of_true_words_equal_the_paper() -> None:
    import math

    k = 100.0
    inverse = Training(sampling="inverse-sigmoid", sampling_half=round(k * math.log(k)))
    for i in (0, 100, 500, 900):
        assert truth_share(inverse, i) == pytest.approx(k / (k + math.exp(i / k)), abs=2e-3)
    exponential = Training(sampling="exponential", sampling_half=100)
    assert truth_share(exponential, 37) == pytest.approx((0.5 ** (1 / 100)) ** 37)
    assert truth_share(Training(sampling="linear", sampling_half=100), 30) == pytest.approx(1 - 30 / 200)
