"""The pace of training, measured without changing the random state."""

import pytest
import torch

from saccade.models import MODELS
from saccade.train.losses import updates_per_second
from saccade.train.recipe import Training


@pytest.mark.parametrize("model", ["bahdanau2014", "vaswani2017"])
def test_measuring_the_pace_keeps_the_random_state(model: str) -> None:
    before = torch.get_rng_state()
    pace = updates_per_second(
        model,
        MODELS[model].PRESETS["tiny"],
        Training(tokens=40),
        device=torch.device("cpu"),
        vocabulary=30,
        length=5,
        seconds=0.0,
    )
    assert pace > 0
    assert torch.equal(torch.get_rng_state(), before)
