"""How fast a model trains on this machine, measured before its vocabulary exists: updates on random pieces."""

import time
from typing import Any

import torch

from saccade.data.batching import Batch
from saccade.models import build_model
from saccade.text import EOS
from saccade.train.losses import Objective, batch_loss
from saccade.train.optimisers import make_optimiser
from saccade.train.precision import Precision
from saccade.train.recipe import Training


def updates_per_second(
    model: str, settings: Any, train: Training, *, device: torch.device, vocabulary: int, length: int, seconds: float
) -> float:
    """Of whole updates on batches of `train.tokens` random pieces in texts of `length`, timed for about `seconds`.

    The first update, which also sets up what later ones reuse, is not counted. The caller's random numbers are left
    alone.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        net = build_model(model, settings, vocabulary, vocabulary).to(device).train()
        optimiser, precision = make_optimiser(train, net), Precision(train.precision, device)
        batch = _random_batch(max(1, train.batch_tokens // length), length, vocabulary).to(device)

        def update() -> None:
            with precision.autocast():
                lowered, _ = batch_loss(net, batch, Objective(smoothing=train.smoothing))
            precision.backward(lowered / batch.target_out.numel())
            precision.step(optimiser, net.parameters(), train.clip, finite=True)  # waits for the device
            optimiser.zero_grad(set_to_none=True)

        update()
        begun, count = time.perf_counter(), 0
        while count == 0 or time.perf_counter() - begun < seconds:
            update()
            count += 1
        return count / (time.perf_counter() - begun)


def _random_batch(pairs: int, length: int, vocabulary: int) -> Batch:
    texts = torch.randint(EOS + 1, vocabulary, (2, pairs, max(1, length - 1))).tolist()  # and one id for the end
    return Batch.of(texts[0], texts[1], range(pairs))
