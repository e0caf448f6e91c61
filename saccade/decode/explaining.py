"""Which fast paths a search takes, and why not the others."""

from collections import Counter
from typing import Any

import torch

from saccade.attention import Attention
from saccade.decode.options import Search
from saccade.decode.precision import choose_precision
from saccade.decode.search.loop import why_not_graphs
from saccade.decode.shortlist.narrowed_model import why_no_shortlist, why_whole_vocabulary
from saccade.fast_paths import FastPath
from saccade.models.contract import Seq2Seq
from saccade.products import why_not_accelerated


def search_paths(
    model: Seq2Seq[Any, Any], device: torch.device, search: Search, *, constrained: bool, recorded: bool
) -> list[FastPath]:
    """The fast paths of a search, for texts with constraints or without, and with the search recorded or not."""
    on_host = None
    if recorded:
        on_host = "the search tree is recorded at every step"
    elif constrained:
        on_host = "constraints are checked by the host at every step"
    elif search.sample:
        on_host = "samples are drawn on the CPU, so that they do not depend on the device"
    graphs = on_host or why_not_graphs(model, search)
    if device.type != "cuda":
        graphs = f"they are for CUDA, and the model is on {device.type}"
    whole = why_no_shortlist(model) or why_whole_vocabulary(search, constrained=constrained, recorded=recorded)
    if not search.shortlist:
        whole = "the text may differ; --shortlist accepts that"
    precision = choose_precision(search.precision, device)
    is_narrow = precision != torch.float32
    wide = None if is_narrow else f"precision is {search.precision}, which is fp32 on {device.type}"
    by_torch: str | None = f"they are for a CPU, and the model is on {device.type}"
    if device.type == "cpu":
        by_torch = why_not_accelerated(model, torch.empty(1, 1, dtype=precision))
    return [
        FastPath("hypotheses share one cache", model.why_no_shared_cache()),
        FastPath("no step waits for the host", on_host),
        FastPath("CUDA graphs of steps", graphs),
        FastPath("half precision", wide),
        FastPath("weights arranged for oneDNN", by_torch),
        FastPath("fused attention", _why_not_fused(model, search)),
        FastPath("scores for a shortlist of tokens", whole),
    ]


def _why_not_fused(model: Seq2Seq[Any, Any], search: Search) -> str | None:
    attentions = [module for module in model.modules() if isinstance(module, Attention)]
    if not attentions:
        return "the model has no attention"
    if search.coverage_penalty > 0:
        return "a coverage penalty needs the weights, and a fused kernel never stores them"
    reasons = Counter(reason for attention in attentions if (reason := attention.why_not_fused()) is not None)
    if not reasons:
        return None
    return f"in {reasons.total()} of {len(attentions)} places {reasons.most_common(1)[0][0]}"
