"""Numbers that are computed when they are first read."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import overload


class DeferredNumbers(Sequence[float]):
    """A sequence whose length is known and whose numbers are not computed yet."""

    def __init__(self, length: int, compute: Callable[[], Sequence[float]]) -> None:
        self._length, self._compute = length, compute

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        return tuple(self._compute())

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> float: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[float, ...]: ...
    def __getitem__(self, place: int | slice) -> float | tuple[float, ...]:
        return self._numbers[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeferredNumbers):
            return self._numbers == other._numbers
        return self._numbers == other

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __repr__(self) -> str:
        return repr(self._numbers)
