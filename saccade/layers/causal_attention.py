"""Causal self-attention in a decoder: over a whole text at once, or token by token with a cache that grows."""

from collections.abc import Sequence
from typing import NamedTuple, cast

from torch import Tensor

from saccade.attention import History, Memory
from saccade.attention.cache import SharedCache
from saccade.attention.short import attend_itself
from saccade.layers.transformer_block import Site


class Past(NamedTuple):
    """What one layer remembers of the tokens before, one row per hypothesis."""

    cache: Memory | SharedCache
    history: History | None = None  # if the attention needs it


def empty_past(site: Site, like: Tensor) -> Past:
    """Before the first token, with one row per row of `like` (B, ·, D)"""
    return Past(site.attention.remember(like[:, :0], at=0))


def attend_past(site: Site, x: Tensor, at: Tensor | None, past: Past | None) -> tuple[Tensor, Past | None]:
    """Every vector of x (B, T, D) reads itself and those before; or, with a `past`, the next one (R, 1, D) does."""
    if past is None:
        whole: Tensor = site.output(attend_itself(site.attention, x))
        return whole, None
    cache = past.cache.extend(site.attention.remember(x, at=at))
    memory = cache if isinstance(cache, Memory) else cache.memory
    reading = site.attention(x, memory, at=at, history=past.history)
    context: Tensor = site.output(reading.context)
    return context, Past(cache, reading.history)


def why_no_shared_cache(name: str, site: Site) -> str | None:
    """Why the hypotheses of a sentence do not share a cache of the attention `name`, or None if they do."""
    return f"{name} keeps a history of the slots in their order" if site.attention.needs_history else None


def shared_pasts(pasts: Sequence[Past], hypotheses: int) -> list[Past]:
    """Empty pasts of all layers, one row per sentence → one row per hypothesis, in shared caches."""
    caches = [SharedCache.start(cast(Memory, past.cache), hypotheses) for past in pasts]
    return [Past(cache._replace(paths=caches[0].paths)) for cache in caches]  # all layers have the same paths
