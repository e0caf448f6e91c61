"""The cache of a self-attention that the hypotheses of a sentence share, so that no key or value is ever moved.

Slot t·N + n was written by hypothesis n at step t, so a step writes N consecutive slots. When a beam continues some
hypotheses and drops others, only the paths change: which slots each hypothesis wrote itself or inherited. The plain
cache, a `Memory` with one row per hypothesis that grows by `extend`, gives the same numbers; its rows are copied at
every step.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from saccade.attention.memory import Memory
from saccade.device import has_triton

_FEWEST_STEPS = 16  # of a new cache; it doubles when it is full


class SharedCache(NamedTuple):
    keys: Tensor  # (B, G, steps·N, d)
    values: Tensor  # (B, G, steps·N, e)
    paths: Tensor  # (B, N, steps·N): the slots that each hypothesis may read; of steps to come, its own
    at: Tensor  # (1, steps·N) the step of each slot
    hypotheses: int  # N
    visible: int  # steps that are read; all later ones are empty

    @classmethod
    def start(cls, empty: Memory, hypotheses: int) -> SharedCache:
        """A cache for N hypotheses of each sentence of an empty memory."""
        slots = _FEWEST_STEPS * hypotheses
        keys, values = (side.new_zeros((*side.shape[:2], slots, side.shape[3])) for side in (empty.keys, empty.values))
        at = _steps(_FEWEST_STEPS, hypotheses, keys.device)
        paths = _own_slots(at, hypotheses).repeat(empty.sentences, 1, 1)
        return cls(keys, values, paths, at, hypotheses, _FEWEST_STEPS)

    @property
    def steps(self) -> int:
        return self.at.shape[1] // self.hypotheses

    @property
    def memory(self) -> Memory:
        """The visible slots, for one query of each hypothesis."""
        slots = self.visible * self.hypotheses
        return Memory(
            self.keys[:, :, :slots],
            self.values[:, :, :slots],
            at=self.at[:, :slots],
            readers=self.hypotheses,
            by_reader=self.paths[..., :slots] if self.hypotheses > 1 else None,
        )

    def extend(self, new: Memory) -> SharedCache:
        """Write one slot per hypothesis, in place; all of them are at one step."""
        assert new.at is not None and new.length == 1 and new.notes is None
        sides = (self.keys, new.keys), (self.values, new.values)
        if self.keys.is_cuda and has_triton() and not torch.is_grad_enabled():
            from saccade.attention.few_queries_triton import write

            write(*sides, new.at[0])
            return self
        for stored, added in sides:
            by_step = torch.unflatten(stored, 2, (-1, self.hypotheses))
            added = torch.unflatten(added, 0, (-1, self.hypotheses)).movedim(1, 3)  # (B, G, 1, N, ·)
            by_step.index_copy_(2, new.at[0], added)
        return self

    def with_room(self, steps: int) -> SharedCache:
        """The same cache with `steps` visible steps. More memory is taken where they do not fit."""
        if steps <= self.steps:
            return self._replace(visible=steps)
        capacity = max(steps, 2 * self.steps)
        more = (capacity - self.steps) * self.hypotheses
        at = _steps(capacity, self.hypotheses, self.at.device)
        later = _own_slots(at[:, -more:], self.hypotheses).expand(self.paths.shape[0], -1, -1)
        return self._replace(
            keys=torch.nn.functional.pad(self.keys, (0, 0, 0, more)),
            values=torch.nn.functional.pad(self.values, (0, 0, 0, more)),
            paths=torch.cat([self.paths, later], -1),
            at=at,
            visible=steps,
        )

    def paths_after(self, rows: Tensor, written: Tensor) -> Tensor:
        """The paths when hypothesis n continues hypothesis rows[n] (B, N), after the step `written` (1,)."""
        inherited = self.paths.gather(1, rows[..., None].expand_as(self.paths))
        return torch.where(self.at <= written, inherited, _own_slots(self.at, self.hypotheses))

    def take_sentences(self, sentences: Tensor) -> SharedCache:
        return self._replace(
            keys=self.keys.index_select(0, sentences),
            values=self.values.index_select(0, sentences),
            paths=self.paths.index_select(0, sentences),
        )


def _steps(steps: int, hypotheses: int, device: torch.device) -> Tensor:
    """(1, steps·N)"""
    return torch.arange(steps * hypotheses, device=device)[None] // hypotheses


def _own_slots(at: Tensor, hypotheses: int) -> Tensor:
    """(N, slots), for slots that begin with a whole step"""
    own = torch.eye(hypotheses, dtype=torch.bool, device=at.device)
    return own.repeat(1, at.shape[1] // hypotheses)
