"""The numbers that a setting accepts, declared with its type and checked wherever a value of it is made.

    width: Annotated[int, Range(least=1, most=65_536)] = 512

A recipe that breaks a range is refused by `config.from_dict`; `Checked` does the same when Python code makes the
dataclass itself. Errors, the documents' tables and `--help` word a range in the same way: `str(Range(...))`.
"""

import dataclasses
import math
import types
from collections.abc import Iterator
from itertools import repeat
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


@dataclasses.dataclass(frozen=True, kw_only=True)
class Range:
    """Finite numbers; `least` and `most` belong to the range, `above` and `below` do not."""

    least: float | None = None
    above: float | None = None
    below: float | None = None
    most: float | None = None

    def __contains__(self, value: float) -> bool:
        return (
            (isinstance(value, int) or math.isfinite(value))  # a whole number may be too large to become a float
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )

    def __str__(self) -> str:
        """As in "lr must be above 0"."""
        if self.least is not None and self.most is not None:
            return f"from {_shown(self.least)} to {_shown(self.most)}"
        words = {"at least": self.least, "above": self.above, "below": self.below, "at most": self.most}
        return " and ".join(f"{word} {_shown(bound)}" for word, bound in words.items() if bound is not None) or "finite"


# Upper bounds are far above any use: they turn a mistyped size into a message instead of a machine without memory.
Width = Annotated[int, Range(least=1, most=65_536)]  # of a layer
Layers = Annotated[int, Range(least=1, most=1_000)]
Heads = Annotated[int, Range(least=1, most=1_000)]
Kernel = Annotated[int, Range(least=1, most=1_000)]  # places that a convolution reads at once
Length = Annotated[int, Range(least=1, most=1_000_000)]  # of a sequence
LengthOrZero = Annotated[int, Range(least=0, most=1_000_000)]
VocabularySize = Annotated[int, Range(least=5, most=1_000_000)]  # the 4 special ids, and one more
Beam = Annotated[int, Range(least=1, most=10_000)]
Count = Annotated[int, Range(least=1, most=10**9)]
CountOrZero = Annotated[int, Range(least=0, most=10**9)]
Seed = Annotated[int, Range(least=0, most=2**32 - 1)]
Positive = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(least=0)]
Ratio = Annotated[float, Range(least=0, most=1_000)]  # of two lengths
Share = Annotated[float, Range(least=0, below=1)]  # of what dropout drops, and the like
BetweenZeroAndOne = Annotated[float, Range(above=0, below=1)]
UpToOne = Annotated[float, Range(above=0, most=1)]
Probability = Annotated[float, Range(least=0, most=1)]
Exponent = Annotated[float, Range(least=-10, most=10)]  # of a length, which must not overflow
Temperature = Annotated[float, Range(least=1e-6, most=1_000_000)]  # by which scores can be divided without overflow


class Checked:
    """A dataclass that inherits from this checks its ranges when it is made. One with a `__post_init__` of its own
    calls this one first."""

    def __post_init__(self) -> None:
        for name, hint in _hints(type(self)).items():
            for within, value in _numbers(hint, getattr(self, name)):
                if value not in within:
                    raise ValueError(f"{name} must be {within}, got {value}")


def range_of(hint: Any) -> Range | None:
    """What `Annotated[int, Range(...)]` declares; of `… | None` and the like, the range of the number among them."""
    if get_origin(hint) is Annotated:
        return next((one for one in get_args(hint)[1:] if isinstance(one, Range)), None)
    if get_origin(hint) in (Union, types.UnionType):
        return next((found for member in get_args(hint) if (found := range_of(member))), None)
    return None


def _numbers(hint: Any, value: Any) -> Iterator[tuple[Range, float]]:
    """Every number in a field's value, with its range. Other values are left to type checkers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield range_of(hint) or Range(), value
    elif isinstance(value, tuple | list):
        for member in get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,):
            if get_origin(member) in (tuple, list):
                first, *others = get_args(member)
                every = repeat(first) if others in ([], [...]) else (first, *others)
                for one, item in zip(every, value, strict=False):
                    yield from _numbers(one, item)


def _hints(cls: type[Any]) -> dict[str, Any]:
    every = get_type_hints(cls, include_extras=True)
    return {field.name: every[field.name] for field in dataclasses.fields(cls)}


def _shown(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
