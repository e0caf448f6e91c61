"""Checks of sizes, types and devices. An error names the argument, what was given and what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention.part import Part
from saccade.attention.positions import Rotary

if TYPE_CHECKING:
    from saccade.attention.attention import Attention
    from saccade.attention.memory import History, Memory


class Sizes(NamedTuple):
    """Widths over all heads together, except `head`: the width of one head's queries and keys."""

    head: int
    queries: int
    keys: int
    values: int
    read: int  # the heads' contexts, side by side
    context: int  # the context that the caller gets (of one head, where heads are kept apart)


def compute_sizes(attention: Attention, project: str, width: int | None) -> Sizes:
    heads, groups = attention.heads, attention.memory_heads
    if heads < 1 or groups < 1 or heads % groups:
        raise ValueError(f"heads must be a multiple of memory_heads, both at least 1; got {heads} and {groups}")
    if set(project) - set("qkvo"):
        raise ValueError(f"project may name q, k, v and o; got {project!r}")
    if attention.per_head and "o" in project:
        raise ValueError("per_head keeps heads apart, so there is no output projection: leave 'o' out of project")
    if not 0.0 <= attention.dropout < 1.0:
        raise ValueError(f"dropout must be in [0, 1), got {attention.dropout}")
    wide = width or attention.query_dim
    queries = wide if "q" in project else attention.query_dim
    head = _divide(queries, heads, "the width of the queries", "heads")
    keys = head * groups if "k" in project else attention.memory_dim
    if attention.score.compares and keys != head * groups:
        raise ValueError(
            f"the score {attention.score.name!r} compares queries of {head} with keys of {keys / groups:g} per head; "
            f"query_dim={attention.query_dim}, memory_dim={attention.memory_dim}, width={width}: "
            f"make them equal, or project them (project={project + 'k'!r})"
        )
    for part in (attention.score, attention.normaliser, attention.bias, attention.positions):
        _check_part(part, head, heads)
    values = _divide(wide, heads, "width", "heads") * groups if "v" in project else attention.value_dim
    read = _divide(values, groups, "the width of the values", "memory_heads") * heads
    context = read // heads if attention.per_head else read
    return Sizes(head, queries, keys, values, read, attention.query_dim if "o" in project else context)


def _check_part(part: Part | Rotary | None, head: int, heads: int) -> None:
    if part is None:
        return
    if part.width not in (None, head):
        raise ValueError(f"{part.name!r} was made for a width of {part.width} per head, the attention has {head}")
    if isinstance(part, Part) and part.heads not in (None, 1, heads):
        raise ValueError(f"{part.name!r} was made for {part.heads} heads, the attention has {heads}")


def _divide(total: int, parts: int, what: str, by: str) -> int:
    if total % parts:
        raise ValueError(f"{what}, {total}, cannot be split into {by}={parts}")
    return total // parts


def check_source(attention: Attention, source: Tensor, readable: Tensor | None, values: Tensor | None) -> None:
    if source.dim() != 3 or source.shape[-1] != attention.memory_dim:
        raise ValueError(
            f"source must have shape (sentences, slots, memory_dim={attention.memory_dim}); got {tuple(source.shape)}"
        )
    _check_input(attention.of_keys, source, "source")
    if values is not None and values.shape != (*source.shape[:2], attention.value_dim):
        raise ValueError(
            f"values must have shape {(*source.shape[:2], attention.value_dim)}, one vector per slot of the source; "
            f"got {tuple(values.shape)}"
        )
    if values is None and attention.value_dim != attention.memory_dim:
        raise ValueError(
            f"values must be given: value_dim={attention.value_dim} is not memory_dim={attention.memory_dim}"
        )
    if readable is None:
        return
    if readable.dtype != torch.bool:
        raise TypeError(f"readable must be bool, True where a slot may be read; got {readable.dtype}")
    if readable.shape != source.shape[:2]:
        raise ValueError(
            f"readable must have shape {tuple(source.shape[:2])}, (sentences, slots) as the source; "
            f"got {tuple(readable.shape)}"
        )
    if readable.device != source.device:
        raise ValueError(f"readable is on {readable.device}, the source on {source.device}; move one with .to()")


def check_call(attention: Attention, queries: Tensor, memory: Memory, history: History | None) -> None:
    if queries.dim() != 3 or queries.shape[-1] != attention.query_dim:
        raise ValueError(
            f"queries must have shape (rows, queries, query_dim={attention.query_dim}); got {tuple(queries.shape)}"
        )
    _check_input(attention.of_queries, queries, "queries")
    if queries.device != memory.keys.device:
        raise ValueError(f"queries are on {queries.device}, the memory on {memory.keys.device}; move one with .to()")
    if queries.dtype != memory.keys.dtype and not torch.is_autocast_enabled(queries.device.type):
        raise TypeError(f"queries are {queries.dtype}, the memory {memory.keys.dtype}; cast one of them")
    if memory.keys.shape[1] != attention.memory_heads:
        raise ValueError(
            f"memory has {memory.keys.shape[1]} key heads, this attention {attention.memory_heads}; "
            "a memory is read by the attention that made it with remember()"
        )
    if queries.shape[0] != memory.sentences * memory.readers:
        raise ValueError(
            f"queries have {queries.shape[0]} rows, the memory {memory.sentences} sentences of {memory.readers} "
            "reader(s) each; use memory.shared(n) when n rows of queries read each sentence"
        )
    if history is not None:
        for kept in history:
            if kept is not None and (kept.shape[0] != queries.shape[0] or kept.shape[-1] > memory.length):
                raise ValueError(
                    f"history has {kept.shape[0]} rows and {kept.shape[-1]} slots, the queries {queries.shape[0]} "
                    f"rows, the memory {memory.length} slots; pass back the last reading's history"
                )


def _check_input(linear: nn.Module, given: Tensor, argument: str) -> None:
    """Compare dtype and device with the first module that reads the input."""
    if not given.is_floating_point():
        raise TypeError(f"{argument} must be floating point (embed tokens first); got {given.dtype}")
    if not isinstance(linear, nn.Linear):
        return
    if given.device != linear.weight.device:
        raise ValueError(
            f"{argument} is on {given.device}, the attention on {linear.weight.device}; move one with .to()"
        )
    if given.dtype != linear.weight.dtype and not torch.is_autocast_enabled(given.device.type):
        raise TypeError(f"{argument} is {given.dtype}, the attention {linear.weight.dtype}; cast one of them")
