"""An option's range, choices and help, declared with its type and checked wherever a value of it is set.

    width: Annotated[int, Range(least=1, most=65_536), Help("Size of each layer.")] = 512

A recipe that breaks a range is refused by `config.from_dict`; `Checked` does the same when Python code builds the
dataclass. Error messages, the tables in the documents and `--help` use the same words: `str(Range(...))`.
"""

import dataclasses
import math
import types
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, TypeVarTuple, Union, cast, get_args, get_origin, get_type_hints

from saccade.names import nearest

Metadata = TypeVar("Metadata")
Options = TypeVar("Options")
Groups = TypeVarTuple("Groups")


class OptionError(ValueError):
    """An option that cannot be accepted. `message` follows the field's name: "must be above 0, got -1"."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field, self.message = field, message


@dataclasses.dataclass(frozen=True)
class Help:
    """What an option does, in one or two sentences. The default and the range are added from the field."""

    text: str
    group: str | None = None  # the panel of `--help` that shows it
    metavar: str | None = None
    flags: tuple[str, ...] = ()  # on the command line, where the flag is not the field's name
    argument: bool = False  # a positional argument of the command


def option(default: Any, text: str, group: str | None = None, **help_options: Any) -> Any:
    """A dataclass field with a default and a Help: `beam: Beam = option(5, "Number of hypotheses.")`."""
    return dataclasses.field(default=default, metadata={"help": Help(text, group, **help_options)})


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


_ABOVE_ANY_USE = 1_000

# Bounds of 1,000 or more are far above any use: they turn a mistyped size into a message instead of a machine without
# memory.
Width = Annotated[int, Range(least=1, most=65_536)]  # of a layer
Layers = Annotated[int, Range(least=1, most=1_000)]
Heads = Annotated[int, Range(least=1, most=1_000)]
Kernel = Annotated[int, Range(least=1, most=1_000)]  # places that a convolution reads at once
Length = Annotated[int, Range(least=1, most=1_000_000)]  # of a sequence
LengthOrZero = Annotated[int, Range(least=0, most=1_000_000)]
VocabularySize = Annotated[int, Range(least=5, most=1_000_000)]  # the 4 special ids, and one more
BlockLength = Annotated[int, Range(least=2, most=1_000_000)]  # tokens
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
    """A dataclass that inherits from this checks its ranges and choices on construction. A subclass with a
    `__post_init__` calls this one first."""

    def __post_init__(self) -> None:
        for name, hint in field_hints(type(self)).items():
            value = getattr(self, name)
            if (choices := choices_of(hint)) and value not in choices:
                *others, last = [str(choice) for choice in choices if choice is not None]
                expected = f"{', '.join(others)} or {last}" if others else last
                raise OptionError(name, f"must be {expected}, got {value!r}")
            for within, number in _numbers(hint, value):
                if number not in within:
                    raise OptionError(name, f"must be {within}, got {number}")


def find_metadata(hint: Any, kind: type[Metadata]) -> Metadata | None:
    """The `Range` or the `Help` that `Annotated[int, Range(...), Help(...)]` declares; in a union, the first one."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return next((item for item in metadata if isinstance(item, kind)), None) or find_metadata(inner, kind)
    if is_union(hint):
        return next((item for member in get_args(hint) if (item := find_metadata(member, kind))), None)
    return None


def describe_option(hint: Any) -> str:
    """The option's help and its range, without an upper bound that is far above any use."""
    within, help_ = find_metadata(hint, Range), find_metadata(hint, Help)
    if within is not None and within.least is not None and (within.most or 0) >= _ABOVE_ANY_USE:
        within = dataclasses.replace(within, most=None)
    text = str(within or "")
    return (help_.text if help_ else "") + (f" {text[0].upper()}{text[1:]}." if text else "")


def field_hints(cls: type[Any]) -> dict[str, Any]:
    """The type of each field, with its metadata."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        field.name: Annotated[hints[field.name], field.metadata["help"]] if field.metadata else hints[field.name]
        for field in dataclasses.fields(cls)
    }


def without_metadata(hint: Any) -> Any:
    """`hint` outside its outermost `Annotated`: a type, a union or a Literal."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def members(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    hint = without_metadata(hint) if is_union(without_metadata(hint)) else hint
    return get_args(hint) if is_union(hint) else (hint,)


def kinds_of(hint: Any) -> list[Any]:
    """The types of a union, or the one type, without metadata."""
    return [without_metadata(member) for member in members(hint)]


def is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def share_options(named: Mapping[str, Any], *defaults: *Groups) -> tuple[*Groups]:
    """Each of the `defaults` with the named options that it has; an option of several changes the first of them."""
    groups: tuple[Any, ...] = defaults
    owners = {field.name: group for group in reversed(groups) for field in dataclasses.fields(group)}
    for name in named:
        if name not in owners:
            raise TypeError(f"there is no option {name!r}; {nearest(name, owners)}")
    changed = []
    for group in groups:
        changes = convert_options(type(group), {name: value for name, value in named.items() if owners[name] is group})
        change = getattr(group, "with_options", partial(dataclasses.replace, group))
        changed.append(change(**changes) if changes else group)
    return cast("tuple[*Groups]", tuple(changed))


def change_options(default: Options, named: Mapping[str, Any]) -> Options:
    return share_options(named, default)[0]


def convert_options(cls: type[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """The values with texts as Paths and lists as tuples where the fields have these types."""
    hints = field_hints(cls)
    return {name: _convert(hints[name], value) for name, value in named.items()}


def _convert(hint: Any, value: Any) -> Any:
    kinds = kinds_of(hint)
    if isinstance(value, str) and Path in kinds and str not in kinds:
        return Path(value)
    for kind in kinds if isinstance(value, list | tuple) else ():
        if get_origin(kind) is tuple:
            return tuple(_convert(get_args(kind)[0], item) for item in value)
    return value


def choices_of(hint: Any) -> tuple[Any, ...]:
    """The values of a `Literal`, or of `Literal | None`; none of any other type."""
    kinds = kinds_of(hint)
    if not all(get_origin(kind) is Literal or kind is type(None) for kind in kinds):
        return ()
    return tuple(choice for kind in kinds for choice in (get_args(kind) or (None,)))


def _numbers(hint: Any, value: Any) -> Iterator[tuple[Range, float]]:
    """Every number in a field's value, with its range. Other values are left to type checkers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield find_metadata(hint, Range) or Range(), value
    elif isinstance(value, tuple | list):
        for member in kinds_of(hint):
            if get_origin(member) in (tuple, list):
                first, *others = get_args(member)
                items = repeat(first) if others in ([], [...]) else (first, *others)
                for item, number in zip(items, value, strict=False):
                    yield from _numbers(item, number)


def _shown(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
