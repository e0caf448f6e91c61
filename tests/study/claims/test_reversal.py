"""Where the loss falls when the source is read backwards."""

import pytest

from saccade.study.claims.reversal import Reversal
from saccade.study.study import MeasuredTrial, Runs


def test_the_gain_is_compared_between_the_first_and_the_last_places() -> None:
    losses = {False: [3.0, 3, 3, 1, 1, 2, 2, 2], True: [1.0, 1, 1, 1, 1, 1, 2, 3]}
    runs = Runs(
        [
            MeasuredTrial({"model": "vector", "backwards": choice}, 1, {"by_place": by_place})
            for choice, by_place in losses.items()
        ]
    )
    # The first three fall by 2 each, the last three by 1, 0 and −1.
    assert Reversal.thresholds[2].value(runs) == pytest.approx([2.0])
