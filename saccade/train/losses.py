"""What an update lowers: cross-entropy with labels smoothed, of a decoder that may read its own words and whose
attention may be guided, or sampled.
"""

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.trace import expecting, traced
from saccade.data.batching import Batch
from saccade.models import Seq2Seq, build_model
from saccade.text import EOS, PAD
from saccade.train.guidance import AlignmentGuide
from saccade.train.optimisers import build_optimiser
from saccade.train.precision import Precision
from saccade.train.recipe import Training
from saccade.train.reinforce import Reinforce


@dataclass(frozen=True, kw_only=True)
class Objective:
    smoothing: float = 0.0  # of labels
    own_share: float = 0.0  # of the decoder's inputs, drawn by chance, are its own predictions
    guided: float = 0.0  # weight of the guide's loss
    guide: AlignmentGuide | None = None
    reinforce: Reinforce | None = None  # of a model whose attention is sampled


def batch_loss(model: Seq2Seq[Any, Any], batch: Batch, objective: Objective) -> tuple[Tensor, Tensor]:
    """What is to be lowered, and the plain cross-entropy, both summed over the target's tokens. Always in float32."""
    read = batch.target_in if objective.own_share <= 0 else _with_own_words(model, batch, objective.own_share)
    guide, reinforce = objective.guide if objective.guided > 0 else None, objective.reinforce
    tracing = nullcontext() if guide is None and reinforce is None else traced(model, weights=guide is not None)
    with tracing as trace, nullcontext() if reinforce is None else expecting(reinforce.choose_expected(batch)):
        logits = model(batch.source, batch.source_readable, read).float().flatten(0, 1)
    wanted = batch.target_out.flatten()
    plain = F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="sum")
    loss = plain
    if objective.smoothing:
        loss = F.cross_entropy(logits, wanted, ignore_index=PAD, reduction="sum", label_smoothing=objective.smoothing)
    if guide is not None and trace is not None:
        loss = loss + objective.guided * guide.loss(model, batch, trace)
    if reinforce is not None and trace is not None:
        each = -F.cross_entropy(logits.detach(), wanted, ignore_index=PAD, reduction="none")
        loss = loss + reinforce.loss(batch, each.view_as(batch.target_out), trace)
    return loss, plain.detach()


def _with_own_words(model: Seq2Seq[Any, Any], batch: Batch, share: float) -> Tensor:
    """Scheduled sampling (Bengio 2015) in two passes (Duckworth 2019; Mihaylova & Martins 2019): what the model finds
    likeliest at each place when it reads the truth takes, by chance, the truth's place at the next input. One way for
    every model, recurrent or not.
    """
    with torch.no_grad():
        predicted = model(batch.source, batch.source_readable, batch.target_in).argmax(-1)  # (B, T)
    own = torch.cat([batch.target_in[:, :1], predicted[:, :-1]], 1)  # the start is read by all
    chosen = (torch.rand(own.shape, device=own.device) < share) & batch.target_readable
    return torch.where(chosen, own, batch.target_in)


def updates_per_second(
    model: str, settings: Any, train: Training, *, device: torch.device, vocabulary: int, length: int, seconds: float
) -> float:
    """Time updates on batches of `train.tokens` random tokens, in texts of `length`, for about `seconds`.

    The first update, which allocates what later ones reuse, is not counted. The random state does not change.
    """
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        net = build_model(model, settings, vocabulary, vocabulary).to(device).train()
        optimiser, precision = build_optimiser(train, net), Precision(train.precision, device)
        batch = _random_batch(max(1, train.batch_tokens // length), length, vocabulary).to(device)

        def update() -> None:
            with precision.autocast():
                loss, _ = batch_loss(net, batch, Objective(smoothing=train.smoothing))
            precision.backward(loss / batch.target_out.numel())
            precision.step(optimiser, net.parameters(), train.clip, finite=True)  # waits for the device
            optimiser.zero_grad(set_to_none=True)

        update()
        begun, count = time.perf_counter(), 0
        while count == 0 or time.perf_counter() - begun < seconds:
            update()
            count += 1
        return count / (time.perf_counter() - begun)


def _random_batch(pairs: int, length: int, vocabulary: int) -> Batch:
    texts = torch.randint(EOS + 1, vocabulary, (2, pairs, max(1, length - 1))).tolist()  # and one id for eos
    return Batch.of(texts[0], texts[1], range(pairs))
