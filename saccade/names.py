"""From a name in a recipe to what it names: an entry of one of our tables, or `my_module:factory` from outside.

A name from outside imports and runs code. That is fine for a name that the user typed, in a recipe or on the command
line. A name that was read from a model folder is refused unless the user said that the folder's code is trusted:
`refuse_outside` looks through whatever came from a folder before anything in it is resolved.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any

from saccade.errors import UserError

_trusted: ContextVar[bool] = ContextVar("trusted", default=False)
_resolved: set[str] = set()  # names from outside that this process has imported, each because the user wanted it


@contextmanager
def trusting_code(trusted: bool) -> Iterator[None]:
    """Whether names in model folders may be of modules outside the package. Trust that is given further out stays."""
    token = _trusted.set(trusted or _trusted.get())
    try:
        yield
    finally:
        _trusted.reset(token)


def refuse_outside(values: Mapping[str, Any], where: str) -> None:
    """Of values that came from a model folder, none may name code outside the package, unless that is trusted."""
    if _trusted.get():
        return
    for key, text in outside(values):
        if text not in _resolved:
            raise UserError(
                f"{where}: {key} is {text!r}, which would run code from outside Saccade; if you trust whoever made "
                "this folder, give --trust-code (in Python: trust_code=True)"
            )


def outside(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All names of code outside the package in a nest of plain values, however deep, with their dotted keys."""
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
    """The entry of this name, or what `my_module:factory` names; modules of the working directory are found too."""
    if name in table:
        return table[name]
    if ":" not in name:
        raise UserError(f"there is no {kind} {name!r}; {nearest(name, table)}, or name your own as my_module:factory")
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a module of the user's may fail in any way
        raise UserError(f"{kind} {name!r}: module {module_name!r} cannot be imported: {error!r}") from error
    if not hasattr(module, attribute):
        raise UserError(f"{kind} {name!r}: {module_name!r} has no {attribute!r}; {nearest(attribute, vars(module))}")
    found = getattr(module, attribute)
    if not callable(found):
        raise UserError(f"{kind} {name!r}: {attribute!r} is {found!r}, not a function or class")
    _resolved.add(name)
    return found


def nearest(name: str, known: Mapping[str, Any]) -> str:
    """What to type instead."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
