"""The fast paths of a model's parts: which are taken in training on a device, and why others are not."""

from collections.abc import Iterator
from typing import Any

import torch

from saccade.attention import Additive, Attention
from saccade.attention.additive import why_not_additive_on_cpu
from saccade.attention.short import why_not_short
from saccade.attention.steps import why_not_stepped
from saccade.fast_paths import FastPath
from saccade.layers.dropout import Dropout, why_not_drawn_in_bits
from saccade.layers.linear_cross_entropy import why_not_chunked
from saccade.layers.recurrent import SCANS, RecurrentUnit
from saccade.layers.scan import why_not_fused, why_not_scanned
from saccade.layers.transformer_block import Site, Sublayer, why_not_together
from saccade.models.contract import Seq2Seq
from saccade.products import FastLinear, why_not_accelerated


def list_fast_paths(model: Seq2Seq[Any, Any], device: torch.device) -> list[FastPath]:
    """Ask in the autocast context of the training step."""
    return list(_paths(model, torch.empty(1, 1, device=device)))


def _paths(model: Seq2Seq[Any, Any], probe: torch.Tensor) -> Iterator[FastPath]:
    has_features = type(model).features is not Seq2Seq.features
    chunked = why_not_chunked(probe) if has_features else "the model computes its logits in another way"
    yield FastPath("output layer and loss in chunks", chunked)
    parts = list(model.modules())
    if any(isinstance(part, FastLinear) for part in parts):
        yield FastPath("products by oneDNN", why_not_accelerated(model, probe))
    if units := [part for part in parts if isinstance(part, RecurrentUnit)]:
        reasons = [why_not_scanned(SCANS.get(type(unit))) for unit in units]
        yield FastPath("recurrence as one operation", next((reason for reason in reasons if reason), None))
    if probe.is_cuda and units:
        reasons = [why_not_fused(SCANS[type(unit)], probe) for unit in units if type(unit) in SCANS]
        yield FastPath("recurrence by fused kernels", next((reason for reason in reasons if reason), None))
        attentions = [part for part in parts if isinstance(part, Attention)]
        reasons = [why_not_stepped(attention, probe) for attention in attentions]
        if attentions:
            yield FastPath("a step's reading by fused kernels", next((reason for reason in reasons if reason), None))
    if scores := [part for part in parts if isinstance(part, Additive)]:
        reads_history = any(score.needs_history for score in scores)
        reason = "the score reads the previous weights" if reads_history else why_not_additive_on_cpu(probe)
        yield FastPath("additive score without a stored hidden layer", reason)
    if any(isinstance(part, Dropout) for part in parts):
        yield FastPath("dropout masks from 16 random bits", why_not_drawn_in_bits(probe))
    if any(isinstance(part, Sublayer) for part in parts):
        yield FastPath("sums with dropout and norms in one kernel", why_not_together(probe))
    if sites := [part for part in parts if isinstance(part, Site)]:
        reasons = [why_not_short(site.attention, probe) for site in sites]
        yield FastPath("attention over few slots in one kernel", next((reason for reason in reasons if reason), None))
