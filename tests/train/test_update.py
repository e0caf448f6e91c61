"""One update: of several batches, of one, and of what is lowered besides."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from saccade.data.batching import Batches
from saccade.train import loop
from saccade.train.recipe import Recipe
from saccade.train.update import update


def test_two_batches_an_update_are_one_of_twice_the_size(make_recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = make_recipe(**{"model.dropout": 0.0, "train.clip": 0.5})
    updated = []
    for number in (1, 2):
        run = loop.start(recipe, tmp_path / str(number))
        run = replace(run, optimiser=torch.optim.SGD(run.model.parameters(), lr=1.0))
        batch = next(iter(Batches(run.material.corpus, tokens=300)))
        loss, tokens = update(run, [batch] if number == 1 else list(batch.halves()))
        updated.append((nn.utils.parameters_to_vector(run.model.parameters()), loss / tokens))
    size = len(run.material.vocabularies.source)
    torch.testing.assert_close(updated[0][0], updated[1][0], atol=1e-6, rtol=1e-5)
    assert updated[0][1] == pytest.approx(updated[1][1]) and 1 < updated[0][1] < 2 * math.log(size)
