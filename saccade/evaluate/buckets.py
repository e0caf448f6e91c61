"""Ranges of whole numbers (lengths, distances) that a score is broken down by."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The whole numbers from `low` to `high`, both included; without a `high` it has no end."""

    low: int
    high: int | None

    def __contains__(self, number: int) -> bool:
        return self.low <= number and (self.high is None or number <= self.high)

    @property
    def label(self) -> str:
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def buckets(edges: Sequence[int], numbers: Sequence[int]) -> tuple[Bucket, ...]:
    """One bucket up to each edge (included), and an open one where a number lies beyond the last.

    The first bucket begins at 1, or at 0 where there is a 0, so that every number has exactly one bucket. An edge of 0
    gives 0 a bucket of its own, where there is one.
    """
    if any(low >= high for low, high in zip((-1, *edges), edges, strict=False)):
        raise UserError(f"bucket edges must be whole numbers ≥ 0 that increase, such as 10,20,40; got {list(edges)}")
    if any(number < 0 for number in numbers):
        raise UserError(f"only numbers ≥ 0 fall into buckets; got {min(numbers)}")
    if 0 not in numbers:
        edges = [edge for edge in edges if edge]
    lows = [0 if 0 in numbers else 1, *(edge + 1 for edge in edges)]
    closed = [Bucket(low=low, high=high) for low, high in zip(lows, edges, strict=False)]
    reaches_past = not edges or any(number > edges[-1] for number in numbers)
    return (*closed, Bucket(low=lows[-1], high=None)) if reaches_past else tuple(closed)
