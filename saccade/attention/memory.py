"""The values that pass between an attention and its caller. No module ever stores anything about a sentence.

Axis letters, everywhere in Saccade: B sentences, N readers (hypotheses) of one sentence, R = B·N rows of queries,
T queries per row, S slots of a memory, H heads, G key/value heads, d and e widths of one head's keys and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Memory(NamedTuple):
    """The slots that queries read: made by `Attention.remember` once per sentence, or grown with `extend`."""

    keys: Tensor  # (B, G, S, d)
    values: Tensor  # (B, G, S, e)
    readable: Tensor | None = None  # (B, S) bool, True = may be read; None: every slot
    at: Tensor | None = None  # (B or 1, S) the position of each slot; None: 0 … S−1
    notes: Tensor | None = None  # (B, S, ·) numbers that the score keeps for each slot, such as its fertility
    readers: int = 1  # N: this many consecutive rows of queries read each sentence
    of_whole: Tensor | None = None  # (B, 1) readable slots of the whole memory, where this is a part of one
    by_reader: Tensor | None = None  # (B, N, S) bool, the slots that each reader may read with one query; None: all

    @property
    def sentences(self) -> int:
        return self.keys.shape[0]

    @property
    def length(self) -> int:
        return self.keys.shape[2]

    @property
    def positions(self) -> Tensor:
        """(B or 1, S)"""
        return torch.arange(self.length, device=self.keys.device)[None] if self.at is None else self.at

    @property
    def readable_slots(self) -> Tensor | int:
        """The number of readable slots: (B, 1), or one number for all sentences."""
        if self.of_whole is not None:
            return self.of_whole
        return self.length if self.readable is None else self.readable.sum(-1, keepdim=True)

    @property
    def limits(self) -> list[Tensor]:
        """What limits the slots that queries read: bool, broadcastable to (B, Q, S)."""
        limits = [] if self.readable is None else [self.readable[:, None, :]]
        return limits if self.by_reader is None else [*limits, self.by_reader]

    def shared(self, readers: int) -> Memory:
        """The same memory, not copied, for `readers` consecutive rows of queries per sentence (beam hypotheses)."""
        return self._replace(readers=readers)

    def extend(self, new: Memory) -> Memory:
        """This memory followed by the slots of `new`: how the cache of self-attention grows."""
        if self.keys.shape[:2] != new.keys.shape[:2]:
            raise ValueError(
                f"extend: the new memory has (sentences, heads) {tuple(new.keys.shape[:2])}, this one "
                f"{tuple(self.keys.shape[:2])}; both must come from remember() of one attention and one batch"
            )
        all_readable = new.keys.new_ones((self.sentences, 1), dtype=torch.bool)
        readable = None
        if self.readable is not None or new.readable is not None:
            readable = torch.cat([_or(m.readable, all_readable.expand(-1, m.length)) for m in (self, new)], 1)
        at = None
        if self.at is not None or new.at is not None:
            follow = new.at if new.at is not None else new.positions + self.length
            at = torch.cat([p.expand(self.sentences, -1) for p in (self.positions, follow)], 1)
        notes = torch.cat([self.notes, new.notes], 1) if self.notes is not None and new.notes is not None else None
        return Memory(
            torch.cat([self.keys, new.keys], 2),
            torch.cat([self.values, new.values], 2),
            readable,
            at,
            notes,
            self.readers,
        )

    def split(self, size: int) -> list[Memory]:
        """The slots in runs of `size`; they keep their positions."""
        count = -(-self.length // size)

        def runs(tensor: Tensor | None) -> Sequence[Tensor | None]:
            return [None] * count if tensor is None else torch.split(tensor, size, 1)

        others = zip(runs(self.readable), runs(self.positions), runs(self.notes), strict=True)
        sides = zip(torch.split(self.keys, size, 2), torch.split(self.values, size, 2), strict=True)
        return [Memory(*side, *rest, self.readers) for side, rest in zip(sides, others, strict=True)]

    def slots(self, start: int, stop: int) -> Memory:
        """The slots from `start` to `stop`; they keep their positions."""
        return Memory(
            self.keys[:, :, start:stop],
            self.values[:, :, start:stop],
            None if self.readable is None else self.readable[:, start:stop],
            self.positions[:, start:stop],
            None if self.notes is None else self.notes[:, start:stop],
            self.readers,
        )

    def runs_from(self, first: Tensor, count: int) -> Memory:
        """For each query, the `count` slots from its `first` (B, Q) on: B·Q sentences of one reader each. They keep
        their positions and the number of slots of the whole memory.
        """
        sentences, length = self.sentences, self.length
        steps = torch.arange(count, device=first.device)
        slots = (first[:, :, None] + steps).flatten(0, 1)  # (B·Q, count)
        row = torch.arange(sentences, device=first.device).repeat_interleave(first.shape[1])[:, None]
        place = row * length + slots

        def taken(by_head: Tensor) -> Tensor:
            # Unlike the gradient of an index, that of an embedding is added row by row.
            table = by_head.transpose(1, 2).reshape(sentences * length, -1)
            return torch.unflatten(F.embedding(place, table), -1, (by_head.shape[1], -1)).transpose(1, 2)

        whole = self.readable_slots
        whole = first.new_full((sentences, 1), whole) if isinstance(whole, int) else whole
        return Memory(
            taken(self.keys),
            taken(self.values),
            None if self.readable is None else self.readable.flatten()[place],
            slots if self.at is None else self.at.expand(sentences, -1).flatten()[place],
            None if self.notes is None else self.notes.flatten(0, 1)[place],
            of_whole=whole[row[:, 0]],
        )


class History(NamedTuple):
    """Passed from step to step where a part needs the previous weights; one row per row of queries."""

    score: Tensor | None = None  # (R, H, S)
    normaliser: Tensor | None = None  # (R, H, S)


class Draw(NamedTuple):
    """What REINFORCE needs to know about slots that were sampled."""

    log_prob: Tensor  # (B, H, Q) of the slot that was chosen; 0 where none was
    entropy: Tensor  # (B, H, Q) of the distribution that it was drawn from


class Reading(NamedTuple):
    """The result of one call of an attention."""

    context: Tensor  # (R, T, D), or (R, T, H, e) with `per_head`
    weights: Tensor | None = None  # (R, H, T, S) if requested
    history: History | None = None  # for the next step, where a part needs one
    log_prob: Tensor | None = None  # (R, H, T) of the slot that a sampled attention chose, for REINFORCE …
    entropy: Tensor | None = None  # … and (R, H, T) of the distribution that it was drawn from


def zero_unreadable(source: Tensor, readable: Tensor | None) -> Tensor:
    """source (B, S, D) with zeros where it may not be read"""
    return source if readable is None else torch.where(readable[..., None], source, 0.0)


def _or(tensor: Tensor | None, otherwise: Tensor) -> Tensor:
    return otherwise if tensor is None else tensor
