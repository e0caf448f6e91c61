"""What a name in a recipe stands for: an entry of one of the package's tables, `my_module:factory`, or data.

Data are named by a file, `-` for standard input, `task:NAME` or `hf:NAME`.

A `my_module:factory` imports and runs code. That is fine for a name that the user typed, in a recipe or on the command
line. A name that was read from a model folder is refused unless the user trusts the folder's code: `refuse_outside`
looks through the values of a folder before any of them is resolved.
"""

import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from saccade.errors import UserError

Entry = TypeVar("Entry")

STDIN = "-"
_TASK = "task:"
_HUB = "hf:"

_trusted: ContextVar[bool] = ContextVar("trusted", default=False)
_resolved: set[str] = set()  # names of code outside the package that the user has typed in this process


class UnknownNameError(UserError, KeyError):
    """A name that a table does not have; the message suggests the nearest one."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class Registry(Mapping[str, Entry]):
    """A read-only table by name, written `Registry("attention") | {…}`; an unknown name gets the nearest known one."""

    def __init__(self, kind: str, entries: Mapping[str, Entry] | None = None) -> None:
        self._kind, self._entries = kind, dict(entries or {})

    def __or__(self, entries: Mapping[str, Entry]) -> "Registry[Entry]":
        return Registry(self._kind, {**self._entries, **entries})

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise UnknownNameError(f"there is no {self._kind} {name!r}; {nearest(name, self)}")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@contextmanager
def trusting_code(trusted: bool) -> Iterator[None]:
    """Allow model folders to name code outside the package; trust granted by an outer block stays."""
    token = _trusted.set(trusted or _trusted.get())
    try:
        yield
    finally:
        _trusted.reset(token)


def trusts_code() -> bool:
    """Whether model folders may name code outside the package here."""
    return _trusted.get()


def refuse_outside(values: Mapping[str, Any], where: str) -> None:
    """Refuse values of a model folder that name code outside the package, unless it is trusted."""
    if _trusted.get():
        return
    for key, text in outside(values):
        if text not in _resolved:
            raise UserError(
                f"{where}: {key} is {text!r}, which would run code from outside Saccade; if you trust whoever made "
                "this folder, give --trust-code (in Python: trust_code=True)"
            )


def outside(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The dotted keys and the names of all code outside the package in nested plain values."""
    nested: list[tuple[str, Any]] = list(values.items())
    while nested:
        key, value = nested.pop()
        if isinstance(value, str) and ":" in value:
            yield key, value
        elif isinstance(value, Mapping):
            nested += [(f"{key}.{name}", item) for name, item in value.items()]
        elif isinstance(value, list | tuple):
            nested += [(key, item) for item in value]


def resolve(name: str, table: Mapping[str, Any], kind: str) -> Any:
    """The table's entry, or what `my_module:factory` names; the module may lie in the working directory."""
    if name in table:
        return table[name]
    if ":" not in name:
        raise UserError(f"there is no {kind} {name!r}; {nearest(name, table)} (your own: my_module:factory)")
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a module of the user's may fail in any way
        raise UserError(f"{kind} {name!r}: module {module_name!r} cannot be imported: {error!r}") from error
    if not hasattr(module, attribute):
        raise UserError(f"{kind} {name!r}: {module_name!r} has no {attribute!r}; {nearest(attribute, vars(module))}")
    factory = getattr(module, attribute)
    if not callable(factory):
        raise UserError(f"{kind} {name!r}: {attribute!r} is {factory!r}, not a function or class")
    _resolved.add(name)
    return factory


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the known name that is most like `name`; where none is like it, list them all."""
    close = closest(name, known := [*known])
    return f"there are {', '.join(sorted(known))}" if close is None else f"did you mean {close!r}?"


def closest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(name, [*known], n=1, cutoff=0.5)), None)


def is_stdin(location: Path | str | None) -> bool:
    return str(location) == STDIN


def task_name(location: str) -> str | None:
    """Return NAME for `task:NAME`, a built-in task, and None for anything else."""
    return location.removeprefix(_TASK) if location.startswith(_TASK) else None


def hub_name(location: str) -> str | None:
    """Return NAME for `hf:NAME`, a Hugging Face data set, and None for anything else."""
    return location.removeprefix(_HUB) if location.startswith(_HUB) else None
