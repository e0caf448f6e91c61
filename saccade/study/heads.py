"""The heads of a Transformer: what each reads, and the model without some of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from saccade.attention import Attention
from saccade.models.vaswani2017 import Vaswani2017

Wanted = Tensor  # (T, S) bool: for each query, the slots that count as a hit
Links = Sequence[tuple[int, int]]  # between words of source and target
SITES = ("encoder", "decoder", "cross")
KINDS: Mapping[str, Sequence[str]] = {  # what heads of each site may read: `wanted_slots`
    "encoder": ("previous", "same", "next", "end"),
    "decoder": ("previous", "same", "start"),
    "cross": ("to write", "written", "end"),
}
_DISTANCES = {"previous": -1, "same": 0, "next": 1}


class Head(NamedTuple):
    site: str  # of SITES
    layer: int  # from 0
    number: int  # within the layer, from 0

    @property
    def attention(self) -> str:
        """Its attention's name, as in a trace."""
        if self.site == "cross":
            return f"decoder.{self.layer}.cross.attention"
        return f"{self.site}.{self.layer}.attention.attention"


def list_heads(model: Vaswani2017) -> list[Head]:
    layers = {"encoder": len(model.encoder), "decoder": len(model.decoder), "cross": len(model.decoder)}
    return [
        Head(site, layer, number)
        for site in SITES
        for layer in range(layers[site])
        for number in range(model.config.heads)
    ]


@contextmanager
def without(model: Vaswani2017, heads: Sequence[Head]) -> Iterator[None]:
    """The model without some heads: the output projection reads zeros in their place."""
    projections = {head: _output_projection(model, head) for head in heads}
    kept = {module: module.weight.detach().clone() for module in projections.values()}
    try:
        with torch.no_grad():
            for head, module in projections.items():
                width = module.in_features // model.config.heads
                module.weight[:, head.number * width : (head.number + 1) * width] = 0
        yield
    finally:
        with torch.no_grad():
            for module, weight in kept.items():
                module.weight.copy_(weight)


def _output_projection(model: Vaswani2017, head: Head) -> nn.Linear:
    attention = cast(Attention, model.get_submodule(head.attention))
    return cast(nn.Linear, attention.of_output)


def hit_shares(weights: Sequence[Tensor], wanted: Sequence[Wanted]) -> list[float]:
    """For each head, the share of the queries whose largest weight is on a wanted slot. `weights` (H, T, S) and
    `wanted` have one item per sentence; queries for which nothing is wanted do not count."""
    hits, queries = torch.zeros(weights[0].shape[0]), 0
    for each, slots in zip(weights, wanted, strict=True):
        counted = slots.any(-1)
        largest = each.argmax(-1)  # (H, T)
        hit = slots[torch.arange(slots.shape[0]), largest]  # (H, T)
        hits += hit[:, counted].sum(-1)
        queries += int(counted.sum())
    return (hits / max(queries, 1)).tolist()


def wanted_slots(site: str, kind: str, queries: int, slots: int, links: Links = ()) -> Wanted:
    """The slots that a head of this kind reads: at a distance, the symbol at the start or the end, or the source words
    that are linked with the target word to write next or just written. The decoder's inputs begin with the start
    symbol, and sources end with the end symbol; a symbol that reads itself does not count."""
    own = torch.arange(queries)[:, None]
    if kind in _DISTANCES:
        return torch.arange(slots) == own + _DISTANCES[kind]
    if kind in ("start", "end"):
        wanted = (torch.arange(slots) == (0 if kind == "start" else slots - 1)).expand(queries, slots)
        return wanted if site == "cross" else wanted & (torch.arange(slots) != own)
    wanted = torch.zeros(queries, slots, dtype=torch.bool)
    for source, target in links:
        wanted[target + (kind == "written"), source] = True
    return wanted


def measure_shares(
    heads: Sequence[Head], weights: Sequence[Mapping[str, Tensor]], links: Sequence[Links]
) -> dict[Head, dict[str, float]]:
    """For each head and kind of its site, the share of hits in sentences with these weights (H, T, S) by attention"""
    shares: dict[Head, dict[str, float]] = {head: {} for head in heads}
    for site, name in dict.fromkeys((head.site, head.attention) for head in heads):
        of_sentences = [each[name] for each in weights]
        for kind in KINDS[site]:
            wanted = [
                wanted_slots(site, kind, each.shape[1], each.shape[2], linked)
                for each, linked in zip(of_sentences, links, strict=True)
            ]
            hits = hit_shares(of_sentences, wanted)
            for head in heads:
                if head.attention == name:
                    shares[head][kind] = round(hits[head.number], 4)
    return shares


def order_of_removal(model: Vaswani2017, heads: Sequence[Head], loss: Callable[[], float]) -> list[Head]:
    """Greedily: the next is always the head without which the loss is smallest."""
    removed: list[Head] = []
    while len(removed) < len(heads):
        losses = {}
        for head in heads:
            if head not in removed:
                with torch.no_grad(), without(model, [*removed, head]):
                    losses[head] = loss()
        removed.append(min(losses, key=losses.__getitem__))
    return removed


def choose_kind(shares: Mapping[str, float], least: Mapping[str, float]) -> str | None:
    """The kind with the largest share among those that reach their least share"""
    reached = [kind for kind, share in shares.items() if share >= least[kind]]
    return max(reached, key=shares.__getitem__, default=None)
