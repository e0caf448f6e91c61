"""One update: from one or several batches, and after an attempt that did not fit in memory."""

import math
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from saccade.data.batching import Batches
from saccade.train.recipe import Recipe
from saccade.train.translation import start
from saccade.train.update import try_gradients, update


def test_update_from_two_batches_equals_one_of_twice_the_size(
    make_recipe: Callable[..., Recipe], tmp_path: Path
) -> None:
    recipe = make_recipe(**{"model.dropout": 0.0, "train.clip": 0.5})
    updated = []
    for number in (1, 2):
        run = start(recipe, tmp_path / str(number))
        run = replace(run, optimiser=torch.optim.SGD(run.model.parameters(), lr=1.0))
        batch = next(iter(Batches(run.learner.dataset.corpus, tokens=300)))
        loss, tokens = update(run, [batch] if number == 1 else list(batch.halves()))
        updated.append((nn.utils.parameters_to_vector(run.model.parameters()), loss / tokens))
    size = len(run.learner.dataset.vocabularies.source)
    torch.testing.assert_close(updated[0][0], updated[1][0], atol=1e-6, rtol=1e-5)
    assert updated[0][1] == pytest.approx(updated[1][1]) and 1 < updated[0][1] < 2 * math.log(size)


def test_failed_attempt_leaves_no_gradients_and_no_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second part runs out of memory: the gradient of the first is forgotten, and all that the second made."""
    model, activations_made, released = nn.Linear(2, 2), [], []

    def scarce_loss(model: nn.Module, part: int, state: None) -> tuple[Tensor, Tensor]:
        activations = model(torch.ones(3, 2))
        activations_made.append(weakref.ref(activations))
        if part == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return activations.sum(), activations.sum().detach()

    monkeypatch.setattr("saccade.train.update.release_unused", released.append)
    run: Any = SimpleNamespace(
        model=model,
        learner=SimpleNamespace(loss=scarce_loss),
        state=None,
        optimiser=torch.optim.SGD(model.parameters()),
        precision=SimpleNamespace(autocast=nullcontext, backward=lambda loss: loss.backward()),
        device=torch.device("meta"),
        graphs=None,
    )
    parts: Any = [1, 2]
    assert try_gradients(run, parts, tokens=1) is None
    assert [parameter.grad for parameter in model.parameters()] == [None, None]
    assert [reference() for reference in activations_made] == [None, None] and released == [torch.device("meta")]

    parts = [1]
    assert try_gradients(run, parts, tokens=1) is not None
    assert all(parameter.grad is not None for parameter in model.parameters())
