"""The attentions to time: every named attention, with and without its weights, and three others for comparison."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import ATTENTIONS, Attention

SDPA, TORCH, LOOP = "scaled_dot_product_attention", "torch.nn.MultiheadAttention", "loop over queries"
NAMES = (SDPA, TORCH, LOOP, *ATTENTIONS)


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    weights: bool = False  # whether the weights are requested
    module: nn.Module
    read: Callable[[Tensor], list[Tensor]]  # (B, n, width) → the inputs of a loss

    @property
    def label(self) -> str:
        return f"{self.name} + weights" if self.weights else self.name


def contenders(width: int, heads: int, only: tuple[str, ...] = ()) -> Iterator[Contender]:
    """SDPA alone comes first: the others are compared with it."""
    yield Contender(name=SDPA, module=nn.Identity(), read=_bare(heads))
    for name in NAMES[1:]:
        if only and name not in only:
            continue
        if name == TORCH:
            yield from _multihead(width, heads)
        elif name == LOOP:
            yield Contender(name=name, module=nn.Identity(), read=_loop(heads))
        else:
            yield from _named(name, width, heads)


def _named(name: str, width: int, heads: int) -> Iterator[Contender]:
    factory: Callable[..., Attention] = ATTENTIONS[name]
    attention = factory(query_dim=width, memory_dim=width, width=width)
    if attention.heads > 1:  # the others have one head in their papers
        attention = factory(query_dim=width, memory_dim=width, width=width, heads=heads)

    def reader(weights: bool) -> Callable[[Tensor], list[Tensor]]:
        def read(sentence: Tensor) -> list[Tensor]:
            reading = attention(sentence, attention.remember(sentence), weights=weights)
            return [reading.context] if reading.log_prob is None else [reading.context, reading.log_prob]

        return read

    yield Contender(name=name, module=attention, read=reader(False))
    # Where a kernel, a band or a span avoids the weights, requesting them costs time; elsewhere they exist anyway.
    window = attention.window
    if attention.why_not_fused() is None or window.band is not None or window.span is not None:
        yield Contender(name=name, weights=True, module=attention, read=reader(True))


def _multihead(width: int, heads: int) -> Iterator[Contender]:
    module = nn.MultiheadAttention(width, heads, bias=False, batch_first=True)

    def plain(sentence: Tensor) -> list[Tensor]:
        return [module(sentence, sentence, sentence, need_weights=False)[0]]

    def with_weights(sentence: Tensor) -> list[Tensor]:
        return [module(sentence, sentence, sentence, average_attn_weights=False)[0]]

    yield Contender(name=TORCH, module=module, read=plain)
    yield Contender(name=TORCH, weights=True, module=module, read=with_weights)


def _by_head(sentence: Tensor, heads: int) -> Tensor:
    """(B, H, n, d)"""
    return torch.unflatten(sentence, -1, (heads, -1)).transpose(1, 2)


def _bare(heads: int) -> Callable[[Tensor], list[Tensor]]:
    def read(sentence: Tensor) -> list[Tensor]:
        by_head = _by_head(sentence, heads)
        return [F.scaled_dot_product_attention(by_head, by_head, by_head)]

    return read


def _loop(heads: int) -> Callable[[Tensor], list[Tensor]]:
    def read(sentence: Tensor) -> list[Tensor]:
        by_head = _by_head(sentence, heads)
        keys = by_head.transpose(-1, -2) / math.sqrt(by_head.shape[-1])
        rows = [torch.softmax(by_head[:, :, i : i + 1] @ keys, -1) @ by_head for i in range(by_head.shape[2])]
        return [torch.cat(rows, 2)]

    return read
