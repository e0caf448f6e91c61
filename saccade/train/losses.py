"""What an update lowers: cross-entropy with labels smoothed, of a decoder that may read its own words and whose
attention may be guided, or sampled.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.trace import expecting, traced
from saccade.data.batching import Batch
from saccade.models import Seq2Seq
from saccade.text import PAD
from saccade.train.guidance import AlignmentGuide
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
