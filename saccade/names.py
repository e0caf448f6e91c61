"""From a name in a recipe to what it names: an entry of one of our tables, or `my_module:factory` from outside."""

import importlib
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from saccade.errors import UserError


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
    return found


def nearest(name: str, known: Mapping[str, Any]) -> str:
    """What to type instead."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
